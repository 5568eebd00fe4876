#!/usr/bin/python
# -*- coding: utf-8 -*-

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r'''
---
module: aisync_apply
short_description: Apply an aisync spec
version_added: 0.1.0
description:
  - Puts the spec of a host into its folder, and applies it with C(aisync apply).
  - Makes what nobody must decide. What waits for a person's yes is reported in C(waiting) and as a warning, and left as it is.
  - Reads the events of C(aisync apply --json), and no text.
  - An apply that was killed is finished by the next one.
options:
  spec:
    description:
      - The host's spec, as CUE. It becomes C(host.cue) in C(config).
      - It is checked before it takes the place of the old one. A spec with an error fails with file and line, and the old one stays.
    type: str
  spec_src:
    description:
      - A CUE file on the controller, or a folder of them with what they name by relative paths. Hidden files and C(cue.mod) stay behind.
      - A file that a play put there, and that is no longer in C(spec_src), is removed. One that was edited on the machine is kept beside it under another name.
      - C(aisync.lock) is sent when it has changed here. Pins that the machine adds stay until then.
    type: str
  spec_git:
    description:
      - A repository of host specs. C(aisync init --from) clones it where the machine has none, and refuses a clone of another repository.
    type: str
  update:
    description:
      - With C(spec_git), take newer commits. A commit that brings something new that programs would run waits, unless C(effects) is in C(approve).
    type: bool
    default: false
  spec_files:
    description:
      - What the action plugin makes of C(spec_src). Do not give it.
    type: str
  converge:
    description:
      - How often the machine applies its spec by itself, such as C(4h). It becomes C(ansible_converge.cue) beside the spec.
    type: str
  project:
    description:
      - A project on the machine, a folder with C(aisync.cue). Without it only the host's spec is applied.
    type: path
  scope:
    description:
      - With C(project), whether to apply the host's spec too.
    type: str
    choices: [all, project]
    default: all
  targets:
    description: Only these addresses or patterns, and what they depend on.
    type: list
    elements: str
    default: []
  excludes:
    description: Leave out these addresses or patterns, and what depends on them.
    type: list
    elements: str
    default: []
  decide:
    description:
      - What to do with edits, and with files that were there before. Without it they are reported and left.
      - C(restore) undoes edits of what aisync made. C(adopt) keeps what is there. C(force) replaces it. C(merge) merges both where they can stand.
        C(take_over) makes aisync's own what its sources have. Each replaced file has a backup, see C(aisync rollback).
      - What a person has besides in a shared file always stays.
    type: list
    elements: str
    choices: [restore, adopt, force, merge, take_over]
    default: []
  approve:
    description:
      - The answers to questions that wait for a person. Without it they wait.
      - A digest of an effect or an ID of a flagged text, as C(waiting) has it, is a yes to that. Effects are applied when each of them in the plan is approved.
      - C(effects) is a yes to every effect, also to those that a project brings tomorrow.
    type: list
    elements: str
    default: []
  offline:
    description: Use no network.
    type: bool
    default: false
  locked:
    description: Fail if C(aisync.lock) does not pin everything.
    type: bool
    default: false
  lock_timeout:
    description: How long to wait for another apply to end.
    type: str
    default: 60s
extends_documentation_fragment:
  - aisync.aisync.aisync
attributes:
  check_mode:
    support: full
    description:
      - The plan is made with the new spec, in a copy beside the old one that is removed again.
      - Where aisync, the clone of C(spec_git) or a source of the spec is not there yet, the task is reported as changed, without details.
  diff_mode:
    support: full
    description: Secrets are left out, and so is the spec itself.
  platform:
    support: full
    platforms: posix
seealso:
  - module: aisync.aisync.aisync_facts
author:
  - The authors of aisync (!UNKNOWN)
'''

EXAMPLES = r'''
- name: Apply the spec in files/machines
  aisync.aisync.aisync_apply:
    spec_src: machines
  register: aisync

- name: Fail where something waits for a person
  ansible.builtin.assert:
    that: aisync.waiting | length == 0

- name: Undo edits of what aisync made
  aisync.aisync.aisync_apply:
    decide: [restore]

- name: Apply a project, and say yes to one effect that its last play reported
  aisync.aisync.aisync_apply:
    project: ~/code/app
    approve:
      - sha256:feb8d624917765ea8b35ebc8a546a6655fdbb680ee634c43ad65dc9c8c6556f5
'''

RETURN = r'''
changes:
  description: What was changed, or would be in check mode.
  returned: always
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of a target.
      type: str
      sample: file:~/.claude/rules/commits.md
    action:
      description: The sign of the change, as in C(aisync plan).
      type: str
      sample: +
waiting:
  description: What waits for a person.
  returned: always
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of a target, or what else it is about.
      type: str
      sample: file:.mcp.json
    why:
      description: What it is, in words.
      type: str
      sample: claude starts the MCP server files
    approve:
      description: What C(approve) must have for a yes; empty where C(decide) decides it, or a person.
      type: str
spec_changed:
  description: Whether the host's spec was put there anew, or would be.
  returned: always
  type: bool
id:
  description: What C(aisync rollback) undoes; empty where nothing was written.
  returned: always
  type: str
  sample: 20260202T100000.123Z-1a2b3c
failures:
  description: What failed, one entry for each target.
  returned: when something failed
  type: list
  elements: dict
  contains:
    address:
      description: Kind and name of a target; empty where the failure is none of one target.
      type: str
    error:
      description: Why.
      type: str
    hint:
      description: What to do; empty where the error says it.
      type: str
code:
  description: The exit code of aisync.
  returned: when it failed
  type: int
  sample: 1
'''

import os
import platform
import shutil

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.aisync.aisync.plugins.module_utils.aisync import ARGUMENTS, Aisync
from ansible_collections.aisync.aisync.plugins.module_utils.spec import Spec

# Rows with these signs are not changed: undecided, and not to be observed.
LEFT = ('!', '?')

# How many things that wait are warnings; the result has all.
SHOWN = 10


class Task(object):
    """One task: the spec is put, then applied."""

    def __init__(self, module):
        self.module, self.p = module, module.params
        self.aisync = Aisync(module)
        self.result = dict(changed=False, changes=[], waiting=[], spec_changed=False, id='')

    def run(self):
        if self.aisync.program is None:
            if self.module.check_mode:
                self.unknown('aisync is not installed here yet, so what it changes is not known')
            self.module.fail_json(msg='%s: no such program; install it, as the role aisync.aisync.aisync does, or name it in executable' % self.p['executable'])
        if self.p['spec_git']:
            self.follow()
        spec = Spec(self.module, self.aisync.config)
        self.result['spec_changed'] = self.result['spec_changed'] or spec.changed
        if spec.changed:
            copy = spec.staged()
            try:
                self.check(copy)
                if self.module.check_mode:
                    self.rehearse(copy)
            finally:
                shutil.rmtree(copy, ignore_errors=True)
            if not self.module.check_mode:
                spec.put()
        elif self.module.check_mode:
            self.rehearse(None)
        if not self.module.check_mode:
            self.apply()
        self.result['changed'] = bool(self.result['changes'] or self.result['spec_changed'])
        self.warn()
        self.module.exit_json(**self.result)

    def unknown(self, why):
        self.result.update(changed=True, msg=why)
        self.module.exit_json(**self.result)

    def follow(self):
        """Clones the repository of the spec, or takes its newer commits."""
        if self.module.check_mode:
            if not os.path.isdir(os.path.join(self.aisync.config, '.git')):
                self.result['spec_changed'] = True
                self.unknown('%s is not cloned here yet, so what it changes is not known' % self.p['spec_git'])
        else:
            # It refuses a clone of another repository, and leaves one of this as it is.
            answer = self.aisync.run('init', '--from', self.p['spec_git'], alone=True)
            if answer.code != 0:
                self.aisync.fail(answer)
            self.result['spec_changed'] = bool(self.aisync.read(answer, '1')['written'])
        if not self.p['update']:
            return
        answer = self.aisync.run('update', '--spec', '--dry-run', alone=True)
        if answer.code != 0:
            self.aisync.fail(answer)
        spec = self.aisync.read(answer, '1')['spec']
        if spec is None or not spec['behind']:
            return
        if spec['effects'] and 'effects' not in self.p['approve']:
            for e in spec['effects']:
                self.wait('%s %s' % (e['kind'], e['name']), '%s, which is new in the spec' % e['does'], 'effects')
            return
        if not self.module.check_mode:
            answer = self.aisync.run('update', '--spec', '--yes', alone=True)
            if answer.code != 0:
                self.aisync.fail(answer)
            if not self.aisync.read(answer, '1')['spec']['moved']:
                return
        self.result['spec_changed'] = True

    def check(self, folder):
        """Fails with file and line if the spec in a folder is wrong; the old one stays."""
        answer = self.aisync.run('validate', config=folder, alone=True)
        doc = self.aisync.read(answer, '1')
        if doc['valid']:
            return
        reasons, failures = [], []
        for e in doc['errors']:
            text = '%s:%d:%d: %s' % (e['file'], e['line'], e['col'], ': '.join(t for t in (e.get('path'), e['message']) if t))
            failures.append(dict(address='', error=text, hint=e.get('hint') or ''))
            reasons.append('; '.join(t for t in (text, e.get('hint')) if t))
        self.aisync.fail(answer, reasons, failures=failures, **self.result)

    def narrow(self):
        """Returns the flags that say what a plan is about."""
        flags = ['--scope', self.p['scope'] if self.p['project'] else 'host']
        for flag, values in (('--target', self.p['targets']), ('--exclude', self.p['excludes'])):
            for value in values:
                flags += [flag, value]
        flags += ['--' + choice.replace('_', '-') for choice in self.p['decide']]
        return flags + self.network()

    def network(self):
        return [flag for flag, on in (('--offline', self.p['offline']), ('--locked', self.p['locked'])) if on]

    def accepted(self):
        """Returns the flags that accept flagged texts."""
        flags = []
        for word in self.p['approve']:
            if word != 'effects' and ':' not in word:
                flags += ['--accept', word]
        return flags

    def agreed(self, plan):
        """Whether each effect that waits in a plan is approved by its digest."""
        effects = plan['undecided_effects']
        return bool(effects) and all(e['digest'] in self.p['approve'] for e in effects)

    def rehearsal(self, config, trust):
        args = ['apply', '--dry-run', '--keep-going', '--diff', 'full' if self.module._diff else 'none']
        answer = self.aisync.run(*(args + self.narrow() + self.accepted() + (['--trust'] if trust else [])), config=config)
        return answer, self.aisync.read(answer, '2') if answer.document() else None

    def rehearse(self, config):
        """Reports what an apply would do, with the specs in another folder if one is given."""
        answer, plan = self.rehearsal(config, 'effects' in self.p['approve'])
        if plan is None:
            # A plan fetches nothing, and an apply does: a source may not be here yet.
            valid = self.aisync.run('validate', config=config).document()
            if answer.code != 1 or not valid or not valid['valid']:
                self.aisync.fail(answer, **self.result)
            self.module.warn('%s: what it changes is not known: %s' % (platform.node(), answer.err))
            self.unknown(answer.err)
        if self.agreed(plan):
            answer, plan = self.rehearsal(config, True)
            plan['undecided_effects'] = []
        self.unseen(answer, plan)
        self.result['changes'] = [dict(address=c['address'], action=c['action']) for c in plan['changes'] if moves(c)]
        self.show(plan)
        self.left(plan)

    def unseen(self, answer, plan):
        """Fails if something cannot be observed, as an apply does."""
        unseen = [c for c in plan['changes'] if c['action'] == '?']
        if answer.code != 0 or unseen:
            self.failed(answer, [dict(address=c['address'], error=c['meaning'], hint='') for c in unseen])

    def show(self, plan):
        if self.module._diff:
            self.result['diff'] = [dict(prepared=difference(c)) for c in plan['changes'] if moves(c)]

    def left(self, plan):
        """Reports what a plan leaves to a person."""
        asked = set()
        for e in plan['undecided_effects']:
            if 'effects' not in self.p['approve']:
                asked.add('file:' + e['file'])
                self.wait('file:' + e['file'], '%s %s' % (e['program'], e['text']), e['digest'])
        for t in plan['flagged']:
            asked.update(t['targets'])
            if t['id'] not in self.p['approve']:
                self.wait('flagged %s' % t['file'], '; '.join(f['says'] for f in t['findings']), t['id'])
        for c in plan['changes']:
            if c['action'] == '!' and c['address'] not in asked:
                self.wait(c['address'], c['meaning'], '')
        for c in plan['conflicts']:
            self.wait(c['address'], c['reason'], '')

    def wait(self, address, why, approve):
        self.result['waiting'].append(dict(address=address, why=why, approve=approve))

    def apply(self):
        """Applies, and reports what was done, what waits and what failed."""
        if self.module._diff:
            answer, plan = self.rehearsal(None, 'effects' in self.p['approve'])
            if plan:
                self.show(plan)
        args = ['apply', '--yes', '--keep-going', '--lock-timeout', self.p['lock_timeout']] + self.accepted()
        frozen = self.frozen()
        if frozen:
            args += [frozen, '--trust'] + self.network()
        else:
            args += self.narrow() + (['--trust'] if 'effects' in self.p['approve'] else [])
        answer = self.aisync.run(*args)
        events = answer.lines()
        results = [e for e in events if e.get('type') == 'result']
        if not results:
            self.failed(answer, [])
        result = results[-1]
        self.result['id'] = result['id']
        self.result['changes'] = [dict(address=e['address'], action=e['action']) for e in events if e.get('type') == 'done']
        failures = [dict(address=x['address'], error=x['error'], hint=x.get('hint', '')) for x in result['failed']]
        failures += [dict(address='', error=text, hint='') for text in result.get('left_out', [])]
        if failures or answer.code not in (0, 2, 3):
            self.failed(answer, failures)
        if answer.code != 0:
            rest = self.aisync.run('plan', '--diff', 'none', *self.narrow())
            plan = self.aisync.read(rest, '2')
            self.unseen(rest, plan)
            self.left(plan)
            if not self.result['waiting']:
                self.failed(answer, [])

    def frozen(self):
        """Returns a plan, in a file, each effect of which is approved by its digest; none else."""
        if 'effects' in self.p['approve'] or not any(':' in word for word in self.p['approve']):
            return None
        name = os.path.join(self.module.tmpdir, 'aisync.plan')
        answer = self.aisync.run('plan', '--out', name, '--diff', 'none', *self.narrow())
        plan = answer.document()
        return name if answer.code == 0 and plan and self.agreed(plan) else None

    def failed(self, answer, failures):
        self.result['changed'] = bool(self.result['changes'] or self.result['spec_changed'])
        reasons = ['; '.join(t for t in (': '.join(t for t in (f['address'], f['error']) if t), f['hint']) if t) for f in failures]
        self.aisync.fail(answer, reasons, failures=failures, **self.result)

    def warn(self):
        # Ansible shows equal warnings of many machines once, so each names its machine.
        for w in self.result['waiting'][:SHOWN]:
            text = '%s: waits for a person: %s: %s' % (platform.node(), w['address'], w['why'])
            self.module.warn(text + (' (approve: %s)' % w['approve'] if w['approve'] else ''))
        if len(self.result['waiting']) > SHOWN:
            self.module.warn('%s: %d more wait for a person' % (platform.node(), len(self.result['waiting']) - SHOWN))


def moves(change):
    """Whether a row of a plan changes something; of an undecided one, parts may."""
    signs = [change['action']] if change['action'] not in LEFT else [leaf['action'] for leaf in change['leaves']]
    return any(s.strip() and s not in LEFT for s in signs)


def difference(change):
    """Returns a row of a plan as text, for people."""
    lines = ['%s %s: %s' % (change['action'], change['address'], change['meaning'])]
    for line in change.get('lines') or []:
        lines.append(line['text'] if line['op'] == '@' else line['op'] + line['text'])
    return '\n'.join(lines) + '\n'


def main():
    arguments = dict(
        spec=dict(type='str', no_log=True),
        spec_src=dict(type='str'),
        spec_git=dict(type='str'),
        spec_files=dict(type='str', no_log=True),
        update=dict(type='bool', default=False),
        converge=dict(type='str'),
        scope=dict(type='str', default='all', choices=['all', 'project']),
        targets=dict(type='list', elements='str', default=[]),
        excludes=dict(type='list', elements='str', default=[]),
        decide=dict(type='list', elements='str', default=[], choices=['restore', 'adopt', 'force', 'merge', 'take_over']),
        approve=dict(type='list', elements='str', default=[]),
        offline=dict(type='bool', default=False),
        locked=dict(type='bool', default=False),
        lock_timeout=dict(type='str', default='60s'),
    )
    arguments.update(ARGUMENTS)
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True, mutually_exclusive=[('spec', 'spec_src', 'spec_git'), ('spec_git', 'converge')])
    Task(module).run()


if __name__ == '__main__':
    main()
