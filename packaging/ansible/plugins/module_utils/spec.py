# -*- coding: utf-8 -*-
"""Puts the spec of a host into its folder, and takes back what was put there before.

What lies there besides is the person's and stays. A file that was put there and edited
since is kept beside the new one.
"""

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import base64
import hashlib
import json
import os
import shutil
import tempfile
import time

# Beside the spec: which files were put there, by the digest of what was put.
MANIFEST = '.ansible.json'

# aisync adds pins to it, so it counts only while nothing new is sent.
LOCK = 'aisync.lock'

# How the name of a copy begins.
STAGED = '.aisync-ansible-'

CONVERGE = 'ansible_converge.cue'


class Spec(object):
    """The files that a play wants in the folder of the host's spec."""

    def __init__(self, module, folder):
        self.module, self.folder = module, os.path.realpath(folder)
        self.files = {}  # path below the folder: (bytes, mode)
        p = module.params
        if p['spec'] is not None:
            self.files['host.cue'] = (p['spec'].encode('utf-8'), 0o600)
        if p['spec_files']:
            for name, text in json.loads(base64.b64decode(p['spec_files']).decode('utf-8')).items():
                self.files[self._below(name)] = (base64.b64decode(text[1:]), 0o700 if text[0] == 'x' else 0o600)
        if p['converge']:
            text = '// Written by Ansible.\npackage aisync\n\nhosts: [string]: converge: every: %s\n' % json.dumps(p['converge'])
            self.files[CONVERGE] = (text.encode('utf-8'), 0o600)
        self.put_before = self._manifest()
        self.write = sorted(name for name in self.files if self._differs(name))
        self.remove = sorted(name for name in self.put_before if self.files and name not in self.files and self._live(name) is not None)

    def _below(self, name):
        if os.path.isabs(name) or os.path.normpath(name) != name or name.split(os.sep)[0] == '..':
            self.module.fail_json(msg='%s lies outside the folder of the spec' % name)
        return name

    def _manifest(self):
        text = self._live(MANIFEST)
        if text is None:
            return {}
        try:
            return dict(json.loads(text.decode('utf-8'))['files'])
        except (ValueError, KeyError, TypeError):
            self.module.fail_json(msg='%s is broken; delete it, and run the play again' % os.path.join(self.folder, MANIFEST))

    def _live(self, name):
        try:
            with open(os.path.join(self.folder, name), 'rb') as f:
                return f.read()
        except (IOError, OSError):
            return None

    def _differs(self, name):
        text, live = self.files[name][0], self._live(name)
        if name == LOCK:
            return live is None or self.put_before.get(name) != digest(text)
        return live != text

    @property
    def changed(self):
        return bool(self.write or self.remove)

    def staged(self):
        """Returns a copy of the folder with this spec. The caller removes it.

        It lies beside the folder, as relative paths lead to the same from there.
        """
        parent = os.path.dirname(self.folder)
        if os.path.isdir(parent):
            sweep(parent)
        else:
            parent = self.module.tmpdir
        copy = tempfile.mkdtemp(prefix=STAGED, dir=parent)
        if os.path.isdir(self.folder):
            for name in os.listdir(self.folder):
                if name == '.git':
                    continue
                here, there = os.path.join(self.folder, name), os.path.join(copy, name)
                if os.path.islink(here):
                    os.symlink(os.readlink(here), there)
                elif os.path.isdir(here):
                    shutil.copytree(here, there, symlinks=True)
                else:
                    shutil.copy2(here, there)
        for name in self.remove:
            os.remove(os.path.join(copy, name))
        for name in self.write:
            self._write(os.path.join(copy, name), *self.files[name])
        return copy

    def put(self):
        """Writes what differs, texts before the specs that name them, and the manifest at the end."""
        if not self.changed:
            return
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, 0o700)
        for name in sorted(self.write, key=lambda n: (n.endswith('.cue'), n)):
            self._keep_edit(name)
            self._write(os.path.realpath(os.path.join(self.folder, name)), *self.files[name])
        for name in self.remove:
            self._keep_edit(name)
            os.remove(os.path.join(self.folder, name))
        listed = dict((name, digest(text)) for name, (text, mode) in self.files.items())
        text = json.dumps(dict(files=listed), indent=1, sort_keys=True, separators=(',', ': ')) + '\n'
        self._write(os.path.join(self.folder, MANIFEST), text.encode('utf-8'), 0o600)

    def _keep_edit(self, name):
        live = self._live(name)
        if live is not None and name != LOCK and self.put_before.get(name) != digest(live):
            self.module.backup_local(os.path.join(self.folder, name))

    def _write(self, path, text, mode):
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            os.makedirs(folder, 0o700)
        fd, new = tempfile.mkstemp(prefix='.ansible-', dir=folder)
        with os.fdopen(fd, 'wb') as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.chmod(new, mode)
        os.rename(new, path)


def sweep(parent):
    """Removes copies that a killed play left, an hour ago or earlier."""
    for name in os.listdir(parent):
        path = os.path.join(parent, name)
        if name.startswith(STAGED) and os.lstat(path).st_mtime < time.time() - 3600:
            shutil.rmtree(path, ignore_errors=True)


def digest(text):
    """Returns the SHA-256 of bytes, in hex."""
    return hashlib.sha256(text).hexdigest()
