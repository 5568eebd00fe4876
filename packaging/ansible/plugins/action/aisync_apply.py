# -*- coding: utf-8 -*-
"""Reads the spec of aisync_apply on the controller, as copy reads its src."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import base64
import json
import os

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Sends the files of spec_src along as spec_files."""

    def run(self, tmp=None, task_vars=None):
        result = super(ActionModule, self).run(tmp, task_vars)
        del tmp
        args = dict(self._task.args)
        source = args.get('spec_src')
        if source:
            try:
                files = self._read(self._find_needle('files', source))
            except (AnsibleError, EnvironmentError) as e:
                raise AnsibleActionFail('spec_src %s: %s' % (source, e))
            args['spec_files'] = base64.b64encode(json.dumps(files, sort_keys=True).encode('utf-8')).decode('ascii')
        result.update(self._execute_module('aisync.aisync.aisync_apply', module_args=args, task_vars=task_vars))
        return result

    def _read(self, top):
        """Returns the files below top, or top alone, by their path.

        Hidden ones stay here, and cue.mod: it is the schema, which each aisync writes.
        """
        found = {}
        if not os.path.isdir(top):
            found[os.path.basename(top)] = self._one(top)
            return found
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(d for d in folders if not d.startswith('.') and not (folder == top and d == 'cue.mod'))
            for name in sorted(files):
                path = os.path.join(folder, name)
                below = os.path.relpath(path, top)
                if not name.startswith('.'):
                    found[below] = self._one(path)
        if not any(name.endswith('.cue') and os.sep not in name for name in found):
            raise AnsibleActionFail('spec_src %s: no *.cue is in it' % top)
        return found

    @staticmethod
    def _one(path):
        with open(path, 'rb') as f:
            data = f.read()
        return ('x' if os.access(path, os.X_OK) else '-') + base64.b64encode(data).decode('ascii')
