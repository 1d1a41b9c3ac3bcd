;;; eglot.el --- A bug is found and fixed in Emacs, without a screen  -*- lexical-binding: t -*-

;; Environment: E2E_FILE, a file of a project with a bug and no recording; E2E_SETUP, the documented set-up;
;; E2E_FAULT and E2E_FIXED, the line with the fault and what it should be; E2E_RESULT, where to write what was seen.

(package-initialize)
(require 'json)
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(setq-default eglot-workspace-configuration '(:suspectra (:investigationSeconds 15)))
(setq eglot-sync-connect 60 debug-on-error t create-lockfiles nil make-backup-files nil)

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

(defun e2e-choose (keys name)
  "Press KEYS and choose the first of what is offered; keep that under NAME."
  (let ((completing-read-function
         (lambda (_prompt table &rest _)
           (let ((offered (all-completions "" table)))
             (e2e-see name (vconcat offered))
             (car offered)))))
    (e2e-press keys)))

(load (getenv "E2E_SETUP") nil t)
(find-file (getenv "E2E_FILE"))
(eglot-ensure)
(unless (eglot-current-server) (call-interactively #'eglot))

(let ((server (e2e-wait "connected" #'eglot-current-server))
      (buffer (current-buffer)))
  (flymake-start) ; Flymake otherwise waits for a command of the user
  (e2e-wait "the server has looked"
            (lambda () (equal "noEvidence" (plist-get (suspectra--request :suspectra/suspects '(:limit 1)) :state))))
  (e2e-press "C-c u n")
  (e2e-wait-for-message "suspectra record")

  (e2e-press "C-c u r")
  (e2e-wait-for-message "3 failing tests, 80 passing tests: 20 suspects")
  (let ((marked (string-to-number (getenv "E2E_MARKED"))))
    (e2e-wait "diagnostics" (lambda () (= marked (length (flymake-diagnostics))))))
  (e2e-see 'lines (vconcat (e2e-lines)))
  (flymake-show-project-diagnostics)
  (e2e-see 'project (with-current-buffer (flymake--project-diagnostics-buffer (project-root (project-current)))
                      (buffer-string)))
  (switch-to-buffer buffer)

  (e2e-see 'first (e2e-press "C-c u n"))
  (e2e-see 'second (e2e-press "C-c u n"))
  (e2e-see 'back (e2e-press "C-c u p"))
  (e2e-press "C-c u e")
  (e2e-see 'explained (with-current-buffer "*suspectra*" (buffer-string)))
  (switch-to-buffer buffer)
  (e2e-see 'jumped (e2e-choose "C-c u j" 'moves))
  (e2e-see 'retraced (e2e-press "C-c u b"))
  (e2e-see 'chosen (e2e-choose "C-c u l" 'suspects))
  (let ((marks (e2e-lines)))
    (e2e-press "C-c u d")
    (e2e-wait "one mark less" (lambda () (= (length (e2e-lines)) (1- (length marks)))))
    (e2e-press "C-c u D")
    (e2e-wait "the mark is back" (lambda () (equal (e2e-lines) marks)))
    (goto-char (point-min))
    (insert "# two more\n# lines\n")
    (eglot--signal-textDocument/didChange)
    (e2e-wait "marks that moved" (lambda () (equal (e2e-lines) (mapcar (lambda (line) (+ line 2)) marks)))))

  ;; what would make the failing tests pass: after a question, at any suspect, then at one, and stopped
  (revert-buffer t t)
  (flymake-start)
  (goto-char (point-min))
  (search-forward (getenv "E2E_FAULT"))
  (let ((line (line-number-at-pos)))
    (e2e-wait "marks of the text as it was run" (lambda () (memq line (e2e-lines))))
    (setq e2e-messages nil)
    (let ((completing-read-function (lambda (prompt &rest _) (e2e-see 'question prompt) "Run Altered Tests")))
      (e2e-press "C-c u i")
      (e2e-wait-for-message "altered run"))
    (e2e-see 'investigated (car e2e-messages))
    (e2e-wait "a finding on its line"
              (lambda () (cl-some (lambda (found) (string-match-p "failing tests pass\\|repairs" found)) (e2e-texts))))
    (setq e2e-messages nil)
    (e2e-press "C-c u a") ; nobody is asked a second time
    (e2e-wait-for-message "altered run")
    (e2e-see 'tested (list line (car e2e-messages))))

  ;; the cause of the first failure, and what led to the line, each in a buffer through which `next-error' walks
  (setq e2e-messages nil)
  (e2e-press "C-c u c")
  (e2e-wait "steps" (lambda () (get-buffer "*suspectra-steps*")))
  (e2e-see 'cause (with-current-buffer "*suspectra-steps*" (buffer-string)))
  (e2e-see 'answer (car e2e-messages))
  (next-error)
  (e2e-see 'walked (list (file-name-nondirectory buffer-file-name) (line-number-at-pos)))
  (switch-to-buffer buffer)
  (goto-char (point-min))
  (search-forward (getenv "E2E_FAULT"))
  (e2e-press "C-c u h")
  (e2e-wait "a slice" (lambda () (with-current-buffer "*suspectra-steps*"
                                   (string-prefix-p "What led to" (buffer-string)))))
  (e2e-see 'led (with-current-buffer "*suspectra-steps*" (buffer-string)))
  (e2e-see 'dimmed (length (seq-filter (lambda (one) (overlay-get one 'suspectra-dimmed))
                                       (overlays-in (point-min) (point-max)))))
  (e2e-press "C-c u v")
  (switch-to-buffer buffer)

  (setq e2e-messages nil)
  (e2e-press "C-c u i")
  (e2e-wait "it runs" (lambda () (not (eq (suspectra--command "cancelInvestigation") :json-false))))
  (e2e-wait-for-message "cancelled after")
  (e2e-press "C-c u k")

  (goto-char (point-min))
  (search-forward (getenv "E2E_FAULT"))
  (replace-match (getenv "E2E_FIXED") t t)
  (save-buffer)
  (e2e-press "C-c u r")
  (e2e-wait-for-message "no test failed (83 passed)")
  (e2e-wait "no marks once the tests pass" (lambda () (null (flymake-diagnostics))))

  (eglot-shutdown server nil 10)
  (with-temp-file (getenv "E2E_RESULT") (insert (json-encode e2e-seen))))
