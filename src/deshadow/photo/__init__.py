"""Photos: read as displayed, composed at their own depth and in their own profile, written as they were."""

from deshadow.photo.formats import format_of
from deshadow.photo.photo import Photo
from deshadow.photo.reading import read, read_image

__all__ = ["Photo", "format_of", "read", "read_image"]
