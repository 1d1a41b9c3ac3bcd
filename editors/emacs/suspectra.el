;;; suspectra.el --- Go through the lines that most likely hold the bug  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands for the Suspectra language server under eglot: run the tests, step through the suspects, choose where to
;; look next.  Nothing here is needed for diagnostics and hovers.  `suspectra-map' holds them all; how to start the
;; server and bind the map is in docs/editors/emacs.md.

;;; Code:

(require 'eglot)
(require 'url-parse)
(require 'xref)

(defun suspectra--request (method params)
  "Ask the server of this buffer METHOD with PARAMS."
  (jsonrpc-request (or (eglot-current-server) (user-error "No language server runs here")) method params))

(defun suspectra--command (name &rest arguments)
  "Run the command NAME of the server with ARGUMENTS."
  (suspectra--request :workspace/executeCommand
                      `(:command ,(concat "suspectra.server." name) :arguments ,(vconcat arguments))))

(defun suspectra--cursor ()
  "Point, as the server's commands take it."
  (let ((here (eglot--TextDocumentPositionParams)))
    `(:uri ,(plist-get (plist-get here :textDocument) :uri) :position ,(plist-get here :position))))

(defun suspectra--line ()
  "The document and the line of point, as the server's commands take them."
  (let ((cursor (suspectra--cursor)))
    (list (plist-get cursor :uri) (plist-get (plist-get cursor :position) :line))))

(defun suspectra--visit (place)
  "Go to PLACE, if there is one, leaving a mark for xref; say whether there was."
  (when place
    (let ((path (url-filename (url-generic-parse-url (plist-get place :uri)))))
      (xref-push-marker-stack)
      (find-file (decode-coding-string (url-unhex-string path) 'utf-8))
      (goto-char (point-min))
      (forward-line (plist-get (plist-get (plist-get place :range) :start) :line))
      (back-to-indentation)
      t)))

(defun suspectra--choose (prompt things name)
  "Let the user choose one of THINGS, which NAME names, after PROMPT."
  (let* ((named (mapcar (lambda (thing) (cons (funcall name thing) thing)) things))
         (table (lambda (text predicate action)
                  (if (eq action 'metadata)
                      '(metadata (display-sort-function . identity)) ; the best stays first
                    (complete-with-action action named text predicate)))))
    (cdr (assoc (completing-read prompt table nil t) named))))

(defun suspectra--where (place)
  "PLACE in words."
  (format "%s:%d" (plist-get place :file) (plist-get place :line)))

;;;###autoload
(defun suspectra-run-tests ()
  "Run the tests and rank; the server says how it ended."
  (interactive)
  (suspectra--command "runTests")
  (message "The tests are running"))

(defun suspectra-cancel-tests ()
  "Stop the tests; what they recorded is ranked."
  (interactive)
  (when (eq (suspectra--command "cancelTests") :json-false)
    (message "No tests are running")))

(defun suspectra-next ()
  "Go to the next suspect in the order of the ranking."
  (interactive)
  (suspectra--visit (suspectra--command "nextSuspect" (suspectra--cursor))))

(defun suspectra-previous ()
  "Go to the previous suspect in the order of the ranking."
  (interactive)
  (suspectra--visit (suspectra--command "previousSuspect" (suspectra--cursor))))

(defun suspectra-first ()
  "Go to the most suspicious line."
  (interactive)
  (suspectra--visit (suspectra--command "firstSuspect")))

(defun suspectra-back ()
  "Go back, step by step, to where the walk came from."
  (interactive)
  (or (suspectra--visit (suspectra--command "back"))
      (message "This is where you began")))

(defun suspectra-list ()
  "Choose from all suspects, and go there."
  (interactive)
  (let ((report (suspectra--request :suspectra/suspects '(:limit 1000))))
    (if (seq-empty-p (plist-get report :suspects))
        (message "There are no suspects")
      (suspectra--visit
       (suspectra--choose
        (format "%d failed, %d passed: " (plist-get report :failed) (plist-get report :passed))
        (plist-get report :suspects)
        (lambda (suspect)
          (format "%s  %s  %s  %.3g" (plist-get suspect :rankBest) (suspectra--where suspect)
                  (plist-get suspect :function) (plist-get suspect :score))))))))

(defun suspectra-jump ()
  "Choose where to look next from point, likeliest first, and go there."
  (interactive)
  (let* ((cursor (suspectra--cursor))
         (found (suspectra--command "jump" cursor '(:ask :json-false)))
         (move (if (seq-empty-p (plist-get found :moves))
                   (message "Nothing leads on from here")
                 (suspectra--choose
                  "Where next? " (plist-get found :moves)
                  (lambda (move)
                    (format "%s  %.0f %%  %s" (suspectra--where move) (* 100 (plist-get move :probability))
                            (mapconcat #'identity (plist-get move :reasons) ", ")))))))
    (when (consp move)
      (let ((to `(:uri ,(plist-get move :uri) :line ,(1- (plist-get move :line)))))
        (suspectra--visit (plist-get (suspectra--command "jump" cursor `(:to ,to :ask :json-false)) :chosen))))))

(defun suspectra-explain ()
  "Say why the line of point is suspected."
  (interactive)
  (let ((found (suspectra--request :textDocument/hover (eglot--TextDocumentPositionParams))))
    (if (null found)
        (message "This line is not a suspect")
      (with-help-window "*suspectra*"
        (princ (plist-get (plist-get found :contents) :value))))))

(defun suspectra-examined ()
  "Take the suspect on the line of point off the marks."
  (interactive)
  (when (eq (apply #'suspectra--command "markExamined" (suspectra--line)) :json-false)
    (message "This line is not a suspect")))

(defun suspectra-clear ()
  "Bring all examined suspects back."
  (interactive)
  (suspectra--command "clearExamined"))

(defun suspectra-technique ()
  "Choose the technique that ranks, for this session."
  (interactive)
  (let ((chosen (suspectra--choose "Rank the suspects with: " (suspectra--request :suspectra/techniques nil)
                                   (lambda (technique) (plist-get technique :title)))))
    (suspectra--command "selectTechnique" (plist-get chosen :name))))

;;;###autoload
(defvar suspectra-map
  (let ((map (make-sparse-keymap)))
    (define-key map "r" #'suspectra-run-tests)
    (define-key map "k" #'suspectra-cancel-tests)
    (define-key map "n" #'suspectra-next)
    (define-key map "p" #'suspectra-previous)
    (define-key map "f" #'suspectra-first)
    (define-key map "b" #'suspectra-back)
    (define-key map "l" #'suspectra-list)
    (define-key map "j" #'suspectra-jump)
    (define-key map "e" #'suspectra-explain)
    (define-key map "d" #'suspectra-examined)
    (define-key map "D" #'suspectra-clear)
    (define-key map "t" #'suspectra-technique)
    map)
  "What can be done with suspects, to be bound to a prefix.")

(provide 'suspectra)
;;; suspectra.el ends here
