"""Measures of results and of detected masks against the truth; training and evaluation share them."""
