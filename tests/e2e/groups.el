;;; groups.el --- Failure groups are chosen, merged and split in Emacs, without a screen  -*- lexical-binding: t -*-

;; Environment: that of helpers.el, for a project with three failure groups of 3, 3 and 1 tests.

(load (expand-file-name "helpers" (file-name-directory load-file-name)) nil t)

(defun e2e-groups ()
  "The failure groups."
  (plist-get (suspectra--request :suspectra/suspects '(:limit 0)) :groups))

(defun e2e-wait-for-groups (&rest sizes)
  "Wait until the failure groups have so many tests, SIZES."
  (e2e-wait (format "groups of %s tests" sizes)
            (lambda () (equal sizes (mapcar (lambda (group) (length (plist-get group :tests))) (e2e-groups))))))

(defun e2e-wait-for-current (heading)
  "Wait until the current group is that with HEADING."
  (e2e-wait heading (lambda () (equal heading (plist-get (suspectra--current-group) :heading)))))

(e2e-open)
(e2e-wait-for-groups 3 3 1)
(let ((heading (plist-get (elt (e2e-groups) 2) :heading)))
  (e2e-choose "C-c u g" 'groups 2)
  (e2e-wait-for-current heading))
(e2e-choose "C-c u m" 'others)
(e2e-wait-for-groups 4 3)
(e2e-choose "C-c u s" 'tests 1)
(e2e-wait-for-groups 3 3 1)
(e2e-see 'alone (elt (plist-get (elt (e2e-groups) 2) :tests) 0))
(e2e-press "C-c u u")
(e2e-wait-for-groups 3 3 1)
(e2e-press "C-c u u")
(e2e-wait "no group is left to reset"
          (lambda () (with-current-buffer "*Messages*" (string-match-p "No failure group was changed" (buffer-string)))))
(e2e-end)
