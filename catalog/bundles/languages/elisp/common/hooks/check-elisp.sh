#!/bin/sh
# After an edit of an Emacs Lisp file: do its parentheses match? What is wrong
# goes back to the agent (exit code 2). Without emacs nothing is said. Nothing of
# the file is evaluated.
file=$(sed -n 's/.*"\(file_path\|path\)"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\2/p' | head -n 1)
case $file in *.el) ;; *) exit 0 ;; esac
[ -f "$file" ] && command -v emacs >/dev/null 2>&1 || exit 0

if ! complaints=$(CHECK_ELISP_FILE=$file emacs -Q --batch --eval '
(let ((file (getenv "CHECK_ELISP_FILE")))
  (with-temp-buffer
    (insert-file-contents file)
    (set-syntax-table emacs-lisp-mode-syntax-table)
    (condition-case err
        (check-parens)
      (error
       (message "%s:%d: %s" file (line-number-at-pos) (error-message-string err))
       (kill-emacs 1)))))' 2>&1); then
	printf '%s\n' "$complaints" | tail -n 4 >&2
	exit 2
fi
