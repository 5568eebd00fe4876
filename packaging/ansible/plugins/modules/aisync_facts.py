#!/usr/bin/python
# -*- coding: utf-8 -*-

from __future__ import absolute_import, division, print_function

__metaclass__ = type

DOCUMENTATION = r'''
---
module: aisync_facts
short_description: What aisync knows of a machine
version_added: 0.1.0
description:
  - Returns whether aisync is installed, the facts on which its plans depend, and on request what differs from its specs.
  - It changes nothing.
options:
  status:
    description: Return what C(aisync status) says, too. It makes a plan.
    type: bool
    default: false
  project:
    description: A project on the machine, a folder with C(aisync.cue).
    type: path
extends_documentation_fragment:
  - aisync.aisync.aisync
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  facts:
    support: full
    description: Action returns an C(ansible_facts) dictionary that will update existing host facts.
  platform:
    support: full
    platforms: posix
seealso:
  - module: aisync.aisync.aisync_apply
author:
  - The authors of aisync (!UNKNOWN)
'''

EXAMPLES = r'''
- name: Ask aisync
  aisync.aisync.aisync_facts:
    status: true

- name: Name the machines where something was edited
  ansible.builtin.debug:
    msg: "{{ ansible_facts.aisync.status.summary.drift }} resources were edited"
  when: ansible_facts.aisync.installed and ansible_facts.aisync.status.summary.drift > 0
'''

RETURN = r'''
ansible_facts:
  description: Facts to add to those of the host.
  returned: always
  type: dict
  contains:
    aisync:
      description: What aisync knows.
      returned: always
      type: dict
      contains:
        installed:
          description: Whether the program is there. The other fields are absent where it is not.
          type: bool
        executable:
          description: Where it lies.
          type: str
          sample: /home/me/.local/bin/aisync
        version:
          description: Its version.
          type: str
        machine:
          description: The document of C(aisync facts --json).
          type: dict
        status:
          description: The document of C(aisync status --json).
          returned: when C(status) is true
          type: dict
code:
  description: The exit code of aisync.
  returned: when it failed
  type: int
'''

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.aisync.aisync.plugins.module_utils.aisync import ARGUMENTS, Aisync


def asked(aisync, major, *args):
    """Returns a document that aisync prints."""
    answer = aisync.run(*args)
    if answer.code != 0:
        aisync.fail(answer)
    return aisync.read(answer, major)


def main():
    module = AnsibleModule(argument_spec=dict(status=dict(type='bool', default=False), **ARGUMENTS), supports_check_mode=True)
    aisync = Aisync(module)
    facts = dict(installed=aisync.program is not None)
    if facts['installed']:
        facts.update(
            executable=aisync.program,
            version=asked(aisync, '1', 'version')['version'],
            machine=asked(aisync, FACTS, 'facts'),
        )
        if module.params['status']:
            facts['status'] = asked(aisync, '1', 'status')
    module.exit_json(changed=False, ansible_facts=dict(aisync=facts))


# The format of facts is a whole number.
FACTS = '2'

if __name__ == '__main__':
    main()
