;;; failure.el --- A failure is explained, with values and fixes, and its change undone  -*- lexical-binding: t -*-

;; Environment: that of helpers.el, for a project in which one test failed after one line was changed; E2E_FILE is the file
;; of the test, E2E_CODE that of the line.

(load (expand-file-name "helpers" (file-name-directory load-file-name)) nil t)

(defun e2e-values ()
  "The texts at the ends of lines, by line."
  (mapcar (lambda (overlay)
            (cons (number-to-string (line-number-at-pos (overlay-start overlay)))
                  (string-trim (substring-no-properties (overlay-get overlay 'after-string)))))
          (sort (seq-filter (lambda (one) (overlay-get one 'after-string)) (overlays-in (point-min) (point-max)))
                (lambda (one other) (< (overlay-start one) (overlay-start other))))))

(defun e2e-line ()
  "The line of point."
  (buffer-substring-no-properties (line-beginning-position) (line-end-position)))

(e2e-open)
(find-file-noselect (getenv "E2E_CODE"))
(e2e-wait "the suspects"
          (lambda () (not (seq-empty-p (plist-get (suspectra--request :suspectra/suspects '(:limit 1)) :suspects)))))
(search-forward "def test_ten")

;; why it fails, after a question that is asked once
(let ((completing-read-function (lambda (prompt &rest _) (e2e-see 'question prompt) "Run Altered Tests")))
  (e2e-press "C-c u q")
  (let ((said (lambda () (when (get-buffer "*suspectra why*")
                           (with-current-buffer "*suspectra why*" (buffer-string))))))
    (e2e-see 'first (e2e-wait "what is known at once" said))
    (e2e-see 'why (e2e-wait "the answer" (lambda ()
                                           (let ((now (funcall said)))
                                             (unless (string-match-p "Still finding out more" now) now)))))))

;; the values at the ends of the lines, and none
(find-file (getenv "E2E_CODE"))
(e2e-press "C-c u o")
(e2e-see 'values (e2e-wait "values" #'e2e-values))
(setq e2e-messages nil)
(e2e-press "C-c u o")
(e2e-wait "no values" (lambda () (null (e2e-values))))
(e2e-wait-for-message "hidden")
(e2e-see 'hidden (car e2e-messages))

;; a fix, which is applied after a question, and taken out again
(let ((completing-read-function
       (lambda (prompt table &rest _)
         (e2e-see 'fix prompt)
         (e2e-see 'choices (vconcat (all-completions "" table)))
         "Apply")))
  (cl-letf (((symbol-function 'y-or-n-p) (lambda (&rest _) t)))
    (e2e-press "C-c u X")
    (e2e-wait "a fix in the text" (lambda () (buffer-modified-p)))))
(goto-char (point-min))
(forward-line 1)
(e2e-see 'fixed (e2e-line))
(revert-buffer t t)
(eglot--signal-textDocument/didChange)

;; the change, which is undone
(setq e2e-messages nil)
(e2e-press "C-c u y")
(e2e-wait-for-message "by your change")
(e2e-see 'change (car e2e-messages))
(goto-char (point-min))
(forward-line 1)
(e2e-see 'broken (e2e-line))
(cl-letf (((symbol-function 'y-or-n-p) (lambda (&rest _) t)))
  (e2e-press "C-c u U")
  (e2e-wait "another line" (lambda () (not (equal (e2e-line) (alist-get 'broken e2e-seen))))))
(e2e-see 'undone (e2e-line))

(e2e-end)
