;;; helpers.el --- What scripts share that use Emacs without a screen  -*- lexical-binding: t -*-

;; Environment: E2E_FILE, a file of a project; E2E_SETUP, the documented set-up; E2E_RESULT, where to write what was seen.

(package-initialize)
(require 'json)
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(setq eglot-sync-connect 120 eglot-connect-timeout 120 debug-on-error t create-lockfiles nil make-backup-files nil)

(defvar e2e-seen nil "What was seen, for the test.")
(defvar e2e-messages nil "The messages in the echo area, newest first.")
(cl-defmethod eglot-handle-notification :before (_server (_method (eql window/showMessage)) &key message &allow-other-keys)
  (push message e2e-messages))

(defun e2e-see (name value)
  "Keep VALUE under NAME."
  (push (cons name value) e2e-seen))

(defun e2e-wait (what seen)
  "Wait until SEEN, a function, returns something, and return that; WHAT is it."
  (let ((end (+ (float-time) 120)) result)
    (while (and (not (setq result (funcall seen))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (unless result
      (message "never happened: %s\n%s" what (mapconcat #'identity e2e-messages "\n"))
      (kill-emacs 1))
    result))

(defun e2e-wait-for-message (text)
  "Wait until a message contains TEXT."
  (e2e-wait text (lambda () (cl-some (lambda (message) (string-match-p (regexp-quote text) message)) e2e-messages))))

(defun e2e-lines ()
  "The lines with a diagnostic in this buffer, in the order of the text."
  (sort (mapcar (lambda (found) (line-number-at-pos (flymake-diagnostic-beg found))) (flymake-diagnostics)) #'<))

(defun e2e-texts ()
  "What the diagnostics of this buffer say."
  (mapcar #'flymake-diagnostic-text (flymake-diagnostics)))

(defun e2e-press (keys)
  "Press KEYS, and say where that led."
  (call-interactively (or (key-binding (kbd keys)) (error "Nothing is bound to %s" keys)))
  (list (file-name-nondirectory (or buffer-file-name "")) (line-number-at-pos)))

(defun e2e-choose (keys name &optional number)
  "Press KEYS and choose what is offered at NUMBER, else the first.
Keep what is offered under NAME."
  (let ((completing-read-function
         (lambda (_prompt table &rest _)
           (let ((offered (all-completions "" table)))
             (e2e-see name (vconcat offered))
             (nth (or number 0) offered)))))
    (e2e-press keys)))

(defun e2e-open ()
  "Open the file with the documented set-up, and connect to the server."
  (load (getenv "E2E_SETUP") nil t)
  (find-file (getenv "E2E_FILE"))
  (eglot-ensure)
  (unless (eglot-current-server) (call-interactively #'eglot))
  (e2e-wait "connected" #'eglot-current-server)
  (flymake-start)) ; Flymake otherwise waits for a command of the user

(defun e2e-end ()
  "End the server, and write what was seen."
  (eglot-shutdown (eglot-current-server) nil 10)
  (with-temp-file (getenv "E2E_RESULT") (insert (json-encode e2e-seen))))
