# -*- coding: utf-8 -*-

from __future__ import absolute_import, division, print_function

__metaclass__ = type


class ModuleDocFragment(object):
    """The options that find aisync and its specs."""

    DOCUMENTATION = r'''
options:
  executable:
    description: The program. A name is looked up in C(PATH) and in C(path).
    type: path
    default: aisync
  path:
    description:
      - Folders to put before C(PATH). A login over ssh may lack those of the person, and aisync writes nothing for a program that it does not find.
    type: list
    elements: path
    default: [~/.local/bin]
  config:
    description: The folder of the host's specs, if not that of aisync.
    type: path
  host:
    description: The entry of C(hosts) that this machine is, even if it does not match.
    type: str
attributes:
  check_mode:
    description: Can run in check_mode and return the changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed (or possibly needs changing in check_mode), when in diff mode.
  platform:
    description: Target OS/families that can be operated against.
'''
