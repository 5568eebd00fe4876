# -*- coding: utf-8 -*-
"""Runs aisync for a module: finds it, gives it an environment, reads its JSON.

It reads documents and exit codes, never the text for people: that goes into msg as
it is.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import json
import os

# What the modules have in common.
ARGUMENTS = dict(
    executable=dict(type='path', default='aisync'),
    path=dict(type='list', elements='path', default=['~/.local/bin']),
    config=dict(type='path'),
    host=dict(type='str'),
    project=dict(type='path'),
)

# The exit codes of aisync, in a word each.
CODES = {
    1: 'an error, or something unknown',
    2: 'undecided edits',
    3: 'done in part',
    4: 'undecided, nothing changed',
    5: 'something changed since the plan was made',
    6: 'another apply is running',
    7: 'needs the network',
    64: 'wrong command, flag or argument',
}


class Answer(object):
    """What one run of aisync said."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err.strip()

    def document(self):
        """Returns the JSON document on stdout; None if there is none."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    def lines(self):
        """Returns the JSON objects on stdout, one a line."""
        found = []
        for line in self.out.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue  # a line that a kill cut off
        return found


class Aisync(object):
    """aisync on this machine, as a module's parameters name it."""

    def __init__(self, module):
        self.module = module
        p = module.params
        folders = [os.path.expanduser(d) for d in p['path']]
        named = p['executable']
        if os.sep in named:
            self.program = named if os.access(named, os.X_OK) and not os.path.isdir(named) else None
        else:
            self.program = module.get_bin_path(named, opt_dirs=folders)
        # Programs of the person's own lie where no login over ssh looks for them.
        before = [d for d in folders if d not in os.environ.get('PATH', '').split(os.pathsep)]
        self.environ = dict(PATH=os.pathsep.join(before + [os.environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')]))
        self.home = os.path.expanduser('~')
        base = os.environ.get('XDG_CONFIG_HOME') or os.path.join(self.home, '.config')
        self.config = p['config'] or os.path.join(base, 'aisync')

    def run(self, *args, **options):
        """Runs aisync without questions.

        config is another folder of host specs; alone leaves the project out.
        """
        config = options.get('config') or self.module.params['config']
        project = None if options.get('alone') else self.module.params['project']
        argv = [self.program] + list(args) + ['--json', '--quiet', '--color', 'never']
        for flag, value in (('--config', config), ('--host', self.module.params['host']), ('--project', project)):
            if value:
                argv += [flag, value]
        where = project or config or self.config  # places in specs are named from there
        if not os.path.isdir(where):
            where = self.home
        # AISYNC_IN_AUTOMATION leaves out what to do about an error.
        os.environ.pop('AISYNC_IN_AUTOMATION', None)
        code, out, err = self.module.run_command(argv, data='', cwd=where, environ_update=self.environ, handle_exceptions=True)
        return Answer('aisync ' + args[0], code, out, err)

    def read(self, answer, major):
        """Returns the document of answer, whose format this collection knows; fails else."""
        doc = answer.document()
        if doc is None:
            self.fail(answer)
        version = str(doc.get('format_version', ''))
        if version.split('.')[0] != major:
            self.module.fail_json(msg='%s says format_version %s, and this collection knows %s: use a collection as old as aisync'
                                  % (answer.command, version or 'nothing', major))
        return doc

    def fail(self, answer, reasons=None, **more):
        """Fails with aisync's own code, reasons and fixes."""
        text = '; '.join(reasons or []) or answer.err or CODES.get(answer.code, 'it said nothing')
        self.module.fail_json(msg='%s: exit code %d: %s' % (answer.command, answer.code, text), code=answer.code, **more)
