;;; eglot.el --- A bug is found and fixed in Emacs, without a screen  -*- lexical-binding: t -*-

;; Environment: that of helpers.el, for a project with a bug and no recording; E2E_FAULT and E2E_FIXED, the line with the
;; fault and what it should be; E2E_MARKED, how many lines get a mark.

(load (expand-file-name "helpers" (file-name-directory load-file-name)) nil t)
(setq-default eglot-workspace-configuration '(:suspectra (:investigationSeconds 600 :causesSeconds 60 :diagnostics "all")))

(e2e-open)
(let ((buffer (current-buffer)))
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
      (e2e-wait "a finding on its line"
                (lambda () (cl-some (lambda (found) (string-match-p "failing tests? pass\\|repairs" found)) (e2e-texts)))))
    (setq e2e-messages nil)
    (e2e-press "C-c u k")
    (e2e-wait-for-message "altered run")
    (e2e-see 'investigated (car e2e-messages))
    (setq e2e-messages nil)
    (e2e-press "C-c u a") ; nobody is asked a second time
    ;; the first one may only just be ending, so what is cancelled may be that
    (e2e-wait "it is cancelled" (lambda ()
                                  (suspectra--command "cancelInvestigation")
                                  (cl-some (lambda (message) (string-match-p "altered run" message)) e2e-messages)))
    (e2e-see 'tested (list line (car e2e-messages))))

  ;; how values compare in failing tests and in no passing one; nobody is asked
  (setq e2e-messages nil)
  (e2e-press "C-c u V")
  (e2e-wait-for-message "tests observed")
  (e2e-see 'values (car e2e-messages))

  ;; the cause of the first failure, and what led to the line, each in a buffer
  (setq e2e-messages nil)
  (e2e-press "C-c u c")
  (e2e-wait "steps" (lambda () (get-buffer "*suspectra-steps*")))
  (e2e-see 'cause (with-current-buffer "*suspectra-steps*" (buffer-string)))
  (e2e-see 'answer (car e2e-messages))
  (switch-to-buffer buffer)
  (e2e-press "C-c u F")
  (e2e-see 'step (format "%s:%d: " (buffer-file-name) (line-number-at-pos)))

  ;; where it and the passing test part that goes nearly the same way, and both as a diff
  (switch-to-buffer buffer)
  (e2e-press "C-c u w")
  (e2e-wait "different decisions" (lambda () (with-current-buffer "*suspectra-steps*"
                                               (string-match-p "different decisions" (buffer-string)))))
  (e2e-see 'compared (with-current-buffer "*suspectra-steps*" (buffer-string)))
  (switch-to-buffer buffer)
  (e2e-press "C-c u W")
  (e2e-wait "a diff" (lambda () (get-buffer "*Diff*")))
  (e2e-see 'runs (with-current-buffer "*Diff*" (buffer-string)))
  (switch-to-buffer buffer)
  (e2e-press "C-c u x")
  (let ((completing-read-function (lambda (&rest _) "Cause transitions"))
        (current-prefix-arg (quote (4))))
    (e2e-press "C-c u w"))
  (e2e-wait "the difference" (lambda () (with-current-buffer "*suspectra-steps*"
                                          (string-match-p "What makes the difference" (buffer-string)))))
  (e2e-see 'difference (with-current-buffer "*suspectra-steps*" (buffer-string)))
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

  (goto-char (point-min))
  (search-forward (getenv "E2E_FAULT"))
  (replace-match (getenv "E2E_FIXED") t t)
  (save-buffer)
  (e2e-press "C-c u r")
  (e2e-wait-for-message "no test failed (83 passed)")
  (e2e-wait "no marks once the tests pass" (lambda () (null (flymake-diagnostics))))

  (e2e-end))
