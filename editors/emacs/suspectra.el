;;; suspectra.el --- Go through the lines that most likely contain the bug  -*- lexical-binding: t -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands for the Suspectra language server under eglot: run the tests, step through the suspects, choose where to
;; look next.  Diagnostics and hovers work without them.  `suspectra-map' has all of them; docs/guide/editors/emacs.md says
;; how to start the server and bind the map.

;;; Code:

(require 'diff)
(require 'eglot)
(require 'grep)
(require 'subr-x)
(require 'url-parse)
(require 'xref)

(defun suspectra--request (method params)
  "Ask the server of this buffer METHOD with PARAMS."
  (jsonrpc-request (or (eglot-current-server) (user-error "No language server runs here")) method params))

(defun suspectra--command (name &rest arguments)
  "Run the command NAME of the server with ARGUMENTS."
  (suspectra--request :workspace/executeCommand
                      `(:command ,(concat "suspectra.server." name) :arguments ,(vconcat arguments))))

(defun suspectra--ask-then (name done &rest arguments)
  "Run the command NAME with ARGUMENTS, go on, and call DONE with its result.
The server may ask the user before it answers."
  (jsonrpc-async-request (or (eglot-current-server) (user-error "No language server runs here"))
                         :workspace/executeCommand
                         `(:command ,(concat "suspectra.server." name) :arguments ,(vconcat arguments))
                         :success-fn done
                         :timeout 3600
                         :error-fn (lambda (problem) (message "Suspectra: %s" (plist-get problem :message)))))

(defun suspectra--ask (name &rest arguments)
  "Run the command NAME with ARGUMENTS, and go on."
  (apply #'suspectra--ask-then name #'ignore arguments))

(defun suspectra--cursor ()
  "Point, in the form of the server's commands."
  (let ((params (eglot--TextDocumentPositionParams)))
    `(:uri ,(plist-get (plist-get params :textDocument) :uri) :position ,(plist-get params :position))))

(defun suspectra--line ()
  "The document and the line of point, in the form of the server's commands."
  (let ((cursor (suspectra--cursor)))
    (list (plist-get cursor :uri) (plist-get (plist-get cursor :position) :line))))

(defun suspectra--path (place)
  "The file in which PLACE is."
  (decode-coding-string (url-unhex-string (url-filename (url-generic-parse-url (plist-get place :uri)))) 'utf-8))

(defun suspectra--visit (location)
  "Go to LOCATION and push a mark for xref.  Return nil if LOCATION is nil."
  (when location
    (xref-push-marker-stack)
    (find-file (suspectra--path location))
    (goto-char (point-min))
    (forward-line (plist-get (plist-get (plist-get location :range) :start) :line))
    (back-to-indentation)
    t))

(defun suspectra--choose (prompt things name)
  "Let the user choose one of THINGS at PROMPT; NAME returns the name of one."
  (let* ((named (mapcar (lambda (thing) (cons (funcall name thing) thing)) things))
         (table (lambda (text predicate action)
                  (if (eq action 'metadata)
                      '(metadata (display-sort-function . identity)) ; the best stays first
                    (complete-with-action action named text predicate)))))
    (cdr (assoc (completing-read prompt table nil t) named))))

(defun suspectra--where (location)
  "LOCATION as file and line."
  (format "%s:%d" (plist-get location :file) (plist-get location :line)))

;;;###autoload
(defun suspectra-run-tests ()
  "Run the tests and rank; the server shows the outcome."
  (interactive)
  (suspectra--command "runTests")
  (message "The tests are running"))

(defun suspectra-cancel-tests ()
  "Stop the tests, altered or not; what they recorded or showed is kept."
  (interactive)
  (when (and (eq (suspectra--command "cancelTests") :json-false)
             (eq (suspectra--command "cancelInvestigation") :json-false))
    (message "No tests are running")))

(defun suspectra-investigate ()
  "Find out what would make failing tests pass.
They are run again with one thing altered in each run.
These are the test at point, or else those of the current failure group."
  (interactive)
  (suspectra--ask "investigate" nil nil (suspectra--cursor)))

(defun suspectra-find-change ()
  "Find out which change broke failing tests.
They run in a copy with only some of the changes since they passed.
These are the test at point, or else those of the current failure group."
  (interactive)
  (suspectra--ask "findChange" nil nil (suspectra--cursor)))

(defun suspectra-compare-values ()
  "Say how values compare in all failing tests and in no passing one.
These tests, and the passing ones most like them, run once more unaltered.
The failing ones are the test at point, or those of the current group."
  (interactive)
  (suspectra--ask "compareValues" nil nil (suspectra--cursor)))

(defun suspectra-test-suspect ()
  "Find out whether the line of point, altered, makes failing tests pass."
  (interactive)
  (apply #'suspectra--ask "testSuspect" (suspectra--line)))

(defun suspectra--insert-steps (steps indent)
  "Insert STEPS, and what follows each of them, after INDENT spaces."
  (seq-doseq (step steps)
    (insert (format "%s:%d: %s%s%s%s\n"
                    (suspectra--path step)
                    (plist-get step :line)
                    (make-string indent ?\s)
                    (string-trim (concat (plist-get step :why) " " (plist-get step :source)))
                    (if (> (plist-get step :rounds) 1) (format "  (%d times)" (plist-get step :rounds)) "")
                    (if (string-empty-p (plist-get step :value)) "" (concat "  → " (plist-get step :value)))))
    (suspectra--insert-steps (plist-get step :steps) (+ indent 2))))

(defun suspectra--show-steps (heading steps)
  "Show STEPS below HEADING; the key RET goes to the step at point."
  (with-current-buffer (get-buffer-create "*suspectra-steps*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert heading "\n\n")
      (suspectra--insert-steps steps 0))
    (grep-mode)
    (goto-char (point-min))
    (setq next-error-last-buffer (current-buffer))
    (display-buffer (current-buffer))))

(defface suspectra-dimmed '((t :inherit shadow))
  "Code that is not in the slice."
  :group 'eglot)

(defun suspectra--remove-overlays (kind)
  "Remove the overlays of a KIND from all buffers; return whether there were any."
  (let (there)
    (dolist (buffer (buffer-list) there)
      (with-current-buffer buffer
        (save-restriction
          (widen)
          (dolist (overlay (overlays-in (point-min) (point-max)))
            (when (overlay-get overlay kind)
              (setq there t)
              (delete-overlay overlay))))))))

(defun suspectra-undim ()
  "Show all code again."
  (interactive)
  (unless (suspectra--remove-overlays 'suspectra-dimmed)
    (message "No code is dimmed")))

(defun suspectra--dim (files)
  "Dim the lines of open FILES that are not in the slice."
  (suspectra--remove-overlays 'suspectra-dimmed)
  (seq-doseq (file files)
    (let ((buffer (find-buffer-visiting (suspectra--path file)))
          (inside (append (plist-get file :lines) nil))
          (line 0))
      (when buffer
        (with-current-buffer buffer
          (save-excursion
            (goto-char (point-min))
            (while (not (eobp))
              (unless (memq line inside)
                (let ((overlay (make-overlay (line-beginning-position) (line-end-position))))
                  (overlay-put overlay 'suspectra-dimmed t)
                  (overlay-put overlay 'face 'suspectra-dimmed)))
              (setq line (1+ line))
              (forward-line 1))))))))

(defun suspectra--slice (name)
  "Ask for the slice NAME of the line of point, and show it."
  (apply #'suspectra--ask-then name
         (lambda (found)
           (suspectra--dim (plist-get found :files))
           (suspectra--show-steps (plist-get found :heading) (plist-get found :steps)))
         `(,@(suspectra--line) nil (:show :json-false))))

(defun suspectra-debug ()
  "Say how to debug a failing test that executes the line of point.
The server names the command, and where to stop."
  (interactive)
  (apply #'suspectra--command "debugHere" (suspectra--line)))

(defun suspectra-what-led-here ()
  "Show what led to the line of point, or to the failure, and dim other code."
  (interactive)
  (suspectra--slice "whatLedHere"))

(defun suspectra-what-this-influenced ()
  "Show what the line of point influenced, and dim other code."
  (interactive)
  (suspectra--slice "whatThisInfluenced"))

(defun suspectra-find-cause ()
  "Search for the cause of the failure of the test at point.
Then `suspectra-next-in-chain' walks from there to the failure."
  (interactive)
  (suspectra--ask-then "findCause"
                       (lambda (found)
                         (when (and found (not (seq-empty-p (plist-get found :roots))))
                           (suspectra--show-steps
                            (concat "From the probable cause to the failure of " (plist-get found :test))
                            (if (seq-empty-p (plist-get found :chain))
                                (plist-get found :roots)
                              (plist-get found :chain)))))
                       nil nil (suspectra--cursor)))

(defun suspectra--choose-comparison ()
  "Choose the technique that searches for a run that passes."
  (plist-get (suspectra--choose "Compare the failing test with: "
                                (suspectra--request :suspectra/techniques '(:for "paths"))
                                (lambda (technique) (plist-get technique :title)))
             :name))

(defun suspectra--show-comparison (found)
  "Show what makes the difference in the compared runs FOUND, or where they part."
  (let ((chain (plist-get found :chain))
        (report (plist-get found :report))
        (passing (plist-get found :passing)))
    (cond
     ((not (seq-empty-p chain))
      (suspectra--show-steps (format "What makes the difference for %s" (plist-get found :test)) chain))
     ((not (seq-empty-p report))
      (suspectra--show-steps
       (if passing
           (format "%s fails, %s passes: different decisions" (plist-get found :test) passing)
         (plist-get found :found))
       report)))))

(defun suspectra-compare-passing (&optional technique)
  "Show where the failing test at point and a run that passes part.
It is the passing test that goes nearly the same way.
With a prefix argument, choose another TECHNIQUE that finds the run."
  (interactive (and current-prefix-arg (list (suspectra--choose-comparison))))
  (suspectra--ask-then "comparePassing" #'suspectra--show-comparison
                       nil nil (suspectra--cursor) technique))

(defun suspectra--show-run (run)
  "Return a buffer with what a test executes, named by the title of RUN."
  (with-current-buffer (get-buffer-create (format "*suspectra %s*" (plist-get run :title)))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (plist-get run :text)))
    (delay-mode-hooks (python-mode))
    (setq buffer-read-only t)
    (current-buffer)))

(defun suspectra-compare-runs ()
  "Compare what a failing and a passing test execute, as a diff."
  (interactive)
  (suspectra--ask-then "compareRuns"
                       (lambda (found)
                         (let ((failing (suspectra--show-run (plist-get found :failing)))
                               (passing (suspectra--show-run (plist-get found :passing))))
                           (message "%s" (plist-get found :heading))
                           (display-buffer (diff-no-select failing passing "-U99999" t))))
                       nil nil (suspectra--cursor)))

(defun suspectra--show-answer (answer &optional doing)
  "Show ANSWER; DOING is what the server does to find out more."
  (with-help-window "*suspectra why*"
    (princ (plist-get answer :headline))
    (seq-doseq (sentence (plist-get answer :sentences))
      (princ "\n\n")
      (princ sentence))
    (when doing
      (princ (format "\n\nStill finding out more. %s…" doing)))))

(cl-defmethod eglot-handle-notification
  (_server (_method (eql suspectra/answerSoFar)) &key answer doing &allow-other-keys)
  "Show ANSWER, which is what is known so far, and what is being DOING."
  (suspectra--show-answer answer doing))

(defun suspectra-why ()
  "Say why failing tests fail: the test at point, or those of the group.
What is known by now comes first, and is replaced when more is."
  (interactive)
  (suspectra--ask-then "why"
                       (lambda (found)
                         (when found
                           (suspectra--show-answer found)))
                       nil nil (suspectra--cursor) '(:show :json-false :soFar t)))

(defun suspectra-find-fix ()
  "Search changes with which failing tests pass and no other one fails."
  (interactive)
  (suspectra--ask "findFix" nil nil (suspectra--cursor)))

(defface suspectra-value '((t :inherit shadow))
  "A value of a failing run, at the end of its line."
  :group 'eglot)

(defun suspectra--draw-values ()
  "Draw the server's inlay hints in this buffer, where eglot draws none."
  (let* ((everything `(:start (:line 0 :character 0)
                       :end (:line ,(count-lines (point-min) (point-max)) :character 0)))
         (document `(:uri ,(plist-get (suspectra--cursor) :uri)))
         (hints (suspectra--request :textDocument/inlayHint `(:textDocument ,document :range ,everything))))
    (save-excursion
      (seq-doseq (hint hints)
        (goto-char (point-min))
        (forward-line (plist-get (plist-get hint :position) :line))
        (let ((overlay (make-overlay (line-beginning-position) (line-end-position))))
          (overlay-put overlay 'suspectra-value t)
          (overlay-put overlay 'after-string (propertize (concat "  " (plist-get hint :label)) 'face 'suspectra-value))
          (overlay-put overlay 'modification-hooks (list (lambda (edited &rest _) (delete-overlay edited)))))))))

(defun suspectra--show-values (found)
  "Show the values of the run FOUND in all its open files; hide them if it is nil."
  (suspectra--remove-overlays 'suspectra-value)
  (seq-doseq (file (plist-get found :files))
    (when-let ((buffer (find-buffer-visiting (suspectra--path file))))
      (with-current-buffer buffer
        (if (fboundp 'eglot-inlay-hints-mode)
            (eglot-inlay-hints-mode 1)
          (suspectra--draw-values))))))

(defun suspectra-show-values ()
  "Show the values of the failing run at the ends of its lines, or hide them."
  (interactive)
  (suspectra--ask-then "showValues" #'suspectra--show-values nil nil (suspectra--cursor)))

(defun suspectra-undo-change ()
  "Take back the change at point that broke tests."
  (interactive)
  (apply #'suspectra--ask "undoChange" (suspectra--line)))

(defun suspectra-show-difference ()
  "Show the file as it is and without the change at point that broke tests."
  (interactive)
  (apply #'suspectra--ask-then "showDifference"
         (lambda (found)
           (let ((now (suspectra--show-run (plist-get found :failing)))
                 (before (suspectra--show-run (plist-get found :passing))))
             (message "%s" (plist-get found :heading))
             (display-buffer (diff-no-select now before "-U99999" t))))
         (suspectra--line)))

(defun suspectra-clear-comparison ()
  "Forget which runs were compared."
  (interactive)
  (message (if (eq (suspectra--command "clearComparison") :json-false)
               "No runs were compared"
             "The comparison is forgotten")))

(defun suspectra-next-in-chain ()
  "Go to the next step on the way from the cause to the failure."
  (interactive)
  (suspectra--visit (suspectra--command "nextInChain" (suspectra--cursor))))

(defun suspectra-previous-in-chain ()
  "Go to the previous step on the way from the cause to the failure."
  (interactive)
  (suspectra--visit (suspectra--command "previousInChain" (suspectra--cursor))))

(defun suspectra-next ()
  "Go to the next suspect, function by function."
  (interactive)
  (suspectra--visit (suspectra--command "nextSuspect" (suspectra--cursor))))

(defun suspectra-previous ()
  "Go to the previous suspect, function by function."
  (interactive)
  (suspectra--visit (suspectra--command "previousSuspect" (suspectra--cursor))))

(defun suspectra-first ()
  "Go to the most suspicious line."
  (interactive)
  (suspectra--visit (suspectra--command "firstSuspect")))

(defun suspectra-back ()
  "Go back to the previous statement, step by step."
  (interactive)
  (suspectra--visit (suspectra--command "back")))

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
          (format "%s  %s  %s  %.3g%s" (plist-get suspect :functionRank) (suspectra--where suspect)
                  (plist-get suspect :function) (plist-get suspect :score)
                  (if (> (plist-get suspect :changed) 0) "  changed" ""))))))))

(defun suspectra-jump ()
  "Choose where to look next from point, most likely first, and go there."
  (interactive)
  (let* ((cursor (suspectra--cursor))
         (found (suspectra--command "jump" cursor '(:ask :json-false)))
         (move (if (seq-empty-p (plist-get found :moves))
                   (message "There is nowhere to go from here")
                 (suspectra--choose
                  "Where next? " (plist-get found :moves)
                  (lambda (move)
                    (format "%s  %.0f %%  %s" (suspectra--where move) (* 100 (plist-get move :probability))
                            (mapconcat #'identity (plist-get move :reasons) ", ")))))))
    (when (consp move)
      (let ((to `(:uri ,(plist-get move :uri) :line ,(1- (plist-get move :line)))))
        (or (suspectra--visit (plist-get (suspectra--command "jump" cursor `(:to ,to :ask :json-false)) :chosen))
            (message "This line was edited since the tests ran"))))))

(defun suspectra-explain ()
  "Say why the line of point is suspected."
  (interactive)
  (let ((found (suspectra--request :textDocument/hover (eglot--TextDocumentPositionParams))))
    (if (null found)
        (message "This line is not a suspect")
      (with-help-window "*suspectra*"
        (princ (plist-get (plist-get found :contents) :value))))))

(defun suspectra--mark (name word)
  "Mark the line of point by the command NAME; WORD is what it then is."
  (if (eq (apply #'suspectra--command name (suspectra--line)) :json-false)
      (message "This line is not a suspect")
    (message "Line %d is marked as %s" (line-number-at-pos nil t) word)))

(defun suspectra-examined ()
  "Mark the suspect on the line of point as examined."
  (interactive)
  (suspectra--mark "markExamined" "examined"))

(defun suspectra-innocent ()
  "Mark the line of point as innocent: no step leads there again."
  (interactive)
  (suspectra--mark "markInnocent" "innocent"))

(defun suspectra-clear ()
  "Show all suspects again that were marked as examined or innocent."
  (interactive)
  (message (if (eq (suspectra--command "clearExamined") :json-false)
               "No line is marked as examined or innocent"
             "All suspects are shown again")))

(defun suspectra-localize ()
  "Read what was recorded again, and rank now."
  (interactive)
  (suspectra--command "localize"))

(defun suspectra--groups ()
  "The failure groups, where there are several; one that is alone has no number."
  (let ((report (suspectra--request :suspectra/suspects '(:limit 0))))
    (when (zerop (plist-get report :failed))
      (user-error "No recorded test fails"))
    (seq-filter (lambda (group) (plist-get group :id)) (plist-get report :groups))))

(defun suspectra--group (prompt &optional others)
  "Choose a failure group with PROMPT; with OTHERS, one that is not current."
  (let ((groups (seq-filter (lambda (group) (not (and others (eq (plist-get group :current) t))))
                            (suspectra--groups))))
    (if (null groups)
        (user-error "All failing tests probably share a fault")
      (suspectra--choose prompt groups (lambda (group) (plist-get group :heading))))))

(defun suspectra--current-group ()
  "The failure group whose suspects are shown."
  (seq-find (lambda (group) (eq (plist-get group :current) t)) (suspectra--groups)))

(defun suspectra-group ()
  "Choose the failure group whose suspects are shown."
  (interactive)
  (let ((group (suspectra--group "Show the suspects of: ")))
    (suspectra--command "selectGroup" (plist-get group :folder) (plist-get group :id))))

(defun suspectra-merge-group ()
  "Merge another failure group with the current one."
  (interactive)
  (let ((other (suspectra--group "Merge the current group with: " t)))
    (suspectra--command "mergeGroups" (plist-get other :folder)
                        (vector (plist-get (suspectra--current-group) :id) (plist-get other :id)))))

(defun suspectra-split-group ()
  "Split a test off the current failure group."
  (interactive)
  (let* ((group (or (suspectra--current-group) (user-error "There is one failure group")))
         (test (suspectra--choose "The test that fails for another fault: " (plist-get group :tests) #'identity)))
    (suspectra--command "splitGroup" (plist-get group :folder) (plist-get group :id) (vector test))))

(defun suspectra-reset-groups ()
  "Forget which failure groups were merged and split."
  (interactive)
  (suspectra--command "resetGroups"))

(defun suspectra-technique ()
  "Choose the technique that ranks the suspects in this session."
  (interactive)
  (let ((chosen (suspectra--choose "Rank the suspects with: " (suspectra--request :suspectra/techniques nil)
                                   (lambda (technique) (plist-get technique :title)))))
    (suspectra--command "selectTechnique" (plist-get chosen :name))))

;;;###autoload
(defvar suspectra-map
  (let ((map (make-sparse-keymap)))
    (define-key map "r" #'suspectra-run-tests)
    (define-key map "k" #'suspectra-cancel-tests)
    (define-key map "i" #'suspectra-investigate)
    (define-key map "a" #'suspectra-test-suspect)
    (define-key map "V" #'suspectra-compare-values)
    (define-key map "q" #'suspectra-why)
    (define-key map "X" #'suspectra-find-fix)
    (define-key map "o" #'suspectra-show-values)
    (define-key map "U" #'suspectra-undo-change)
    (define-key map "y" #'suspectra-find-change)
    (define-key map "Y" #'suspectra-show-difference)
    (define-key map "c" #'suspectra-find-cause)
    (define-key map "F" #'suspectra-next-in-chain)
    (define-key map "R" #'suspectra-previous-in-chain)
    (define-key map "w" #'suspectra-compare-passing)
    (define-key map "W" #'suspectra-compare-runs)
    (define-key map "x" #'suspectra-clear-comparison)
    (define-key map "B" #'suspectra-debug)
    (define-key map "h" #'suspectra-what-led-here)
    (define-key map "H" #'suspectra-what-this-influenced)
    (define-key map "v" #'suspectra-undim)
    (define-key map "n" #'suspectra-next)
    (define-key map "p" #'suspectra-previous)
    (define-key map "f" #'suspectra-first)
    (define-key map "b" #'suspectra-back)
    (define-key map "l" #'suspectra-list)
    (define-key map "j" #'suspectra-jump)
    (define-key map "e" #'suspectra-explain)
    (define-key map "d" #'suspectra-examined)
    (define-key map "I" #'suspectra-innocent)
    (define-key map "D" #'suspectra-clear)
    (define-key map "L" #'suspectra-localize)
    (define-key map "g" #'suspectra-group)
    (define-key map "m" #'suspectra-merge-group)
    (define-key map "s" #'suspectra-split-group)
    (define-key map "u" #'suspectra-reset-groups)
    (define-key map "t" #'suspectra-technique)
    map)
  "The commands on suspects, to be bound to a prefix key.")

(provide 'suspectra)
;;; suspectra.el ends here
