;;; words.el --- Each command says something where there is nothing to show  -*- lexical-binding: t -*-

;; Environment: that of helpers.el, for a project without a recording.

(load (expand-file-name "helpers" (file-name-directory load-file-name)) nil t)

(defvar e2e-said nil "What a command said in the echo area.")
(advice-add 'message :before (lambda (text &rest values) (when text (setq e2e-said (apply #'format text values)))))

(e2e-open)
(e2e-wait "the server has looked"
          (lambda () (equal "noEvidence" (plist-get (suspectra--request :suspectra/suspects '(:limit 1)) :state))))
(map-keymap
 (lambda (_key command)
   (unless (eq command 'suspectra-run-tests)
     (setq e2e-said nil)
     (let ((completing-read-function (lambda (_prompt table &rest _) (car (all-completions "" table)))))
       (condition-case problem
           (call-interactively command)
         (error (setq e2e-said (error-message-string problem)))))
     (e2e-see command (e2e-wait (format "a word after %s" command) (lambda () e2e-said)))))
 suspectra-map)
(e2e-end)
