;;; eglot.el --- The main job in Emacs, without a screen  -*- lexical-binding: t -*-

;; Environment: E2E_FILE, a file of a recorded project; E2E_SNIPPETS, the blocks of docs/editors/emacs.md; E2E_RECORD,
;; a shell command that fixes the project and records again; E2E_RESULT, where to write what was seen, as JSON.

(package-initialize)
(require 'json)
(require 'cl-lib)
(require 'flymake)
(setq eglot-sync-connect 15 debug-on-error t)

(defun e2e-wait (what seen)
  "Wait until SEEN, a function, returns something, and return that."
  (let ((end (+ (float-time) 30)) result)
    (while (and (not (setq result (funcall seen))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (unless result
      (message "never happened: %s" what)
      (kill-emacs 1))
    result))

(defun e2e-lines ()
  "The lines with a diagnostic in this buffer, in the order of the text."
  (sort (mapcar (lambda (found) (line-number-at-pos (flymake-diagnostic-beg found))) (flymake-diagnostics)) #'<))

(defun e2e-place ()
  (list (file-name-nondirectory buffer-file-name) (line-number-at-pos)))

(load (getenv "E2E_SNIPPETS") nil t)
(find-file (getenv "E2E_FILE"))
(eglot-ensure)
(unless (eglot-current-server) (call-interactively #'eglot))

(let ((server (e2e-wait "connected" #'eglot-current-server))
      (buffer (current-buffer))
      result)
  (flymake-start) ; Flymake otherwise waits for a command of the user
  (e2e-wait "diagnostics" #'flymake-diagnostics)
  (push (cons 'lines (e2e-lines)) result)
  (push (cons 'messages (mapcar #'flymake-diagnostic-text (flymake-diagnostics))) result)

  (goto-char (flymake-diagnostic-beg (car (flymake-diagnostics))))
  (let ((hover (jsonrpc-request server :textDocument/hover (eglot--TextDocumentPositionParams))))
    (push (cons 'hover (plist-get (plist-get hover :contents) :value)) result))

  (goto-char (point-min))
  (suspectra-next-suspect)
  (push (cons 'first (e2e-place)) result)
  (suspectra-next-suspect)
  (push (cons 'second (e2e-place)) result)
  (suspectra-previous-suspect)
  (push (cons 'back (e2e-place)) result)

  (cl-letf (((symbol-function 'completing-read)
             (lambda (_prompt choices &rest _) (push (cons 'choices (mapcar #'car choices)) result) (caar choices))))
    (suspectra-jump))
  (push (cons 'jumped (e2e-place)) result)
  (suspectra-back)
  (push (cons 'retraced (e2e-place)) result)

  (with-current-buffer buffer
    (goto-char (point-min))
    (insert "# two more\n# lines\n")
    (eglot--signal-textDocument/didChange)
    (let ((before (cdr (assq 'lines result))))
      (e2e-wait "marks that moved" (lambda () (equal (e2e-lines) (mapcar (lambda (line) (+ line 2)) before)))))
    (set-buffer-modified-p nil)
    (shell-command (getenv "E2E_RECORD"))
    (revert-buffer t t t)
    (e2e-wait "no marks once the tests pass" (lambda () (null (flymake-diagnostics)))))

  (eglot-shutdown server nil 5)
  (with-temp-file (getenv "E2E_RESULT") (insert (json-encode result))))
