"""What tells suspects apart: why one line ranks before another, and which test would break up a tie.

A technique may order equal scores by other means, but a new test can only separate statements that the tests left
equal. So this works with ties (`RankedReport.tie_of_level`), and not with levels. What a new test would execute is said
only as far as it is certain: blocks that dominate the decision that it takes, and blocks that post-dominate the line it
goes to.
"""
