"""Photos: read as displayed, changed at their own bit depth and in their own profile, and written."""

from deshadow.photo.formats import format_of
from deshadow.photo.photo import Photo
from deshadow.photo.reading import read_image, read_photo
from deshadow.photo.writing import encode_photo, to_pil

__all__ = ["Photo", "encode_photo", "format_of", "read_image", "read_photo", "to_pil"]
