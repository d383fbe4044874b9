import numpy as np
from PIL import Image

from deshadow.image.sheets import Card, draw_sheet, outline, shrink_to_fit


def card(colour: str, name: str = "") -> Card:
    return Card([Image.new("RGB", (40, 30), colour)] * 2, name)


def test_cards_stand_in_rows_with_their_pictures_side_by_side() -> None:
    sheet = np.asarray(draw_sheet([card("red"), card("lime"), card("blue")], 2, margin=10, gap=4))
    assert sheet.shape == (10 + 30 + 10 + 30 + 10, 10 + 84 + 10 + 84 + 10, 3)
    for colour, left, top in (((255, 0, 0), 10, 10), ((0, 255, 0), 104, 10), ((0, 0, 255), 10, 50)):
        for x in (left, left + 44):
            assert (sheet[top : top + 30, x : x + 40] == colour).all()
    assert (sheet[10:40, 50:54] == 255).all()


def test_titles_headings_and_captions_have_room_of_their_own() -> None:
    plain, captioned = draw_sheet([card("red")]), draw_sheet([card("red", "name")])
    headed = draw_sheet([card("red")], title="title", headings=["one", "two"])
    assert plain.height < captioned.height < headed.height
    assert plain.width == captioned.width == headed.width


def test_a_picture_is_made_smaller_but_never_larger() -> None:
    image = Image.new("RGB", (40, 30))
    assert shrink_to_fit(image, 20).size == (20, 15)
    assert shrink_to_fit(image, 100).size == (40, 30)


def test_an_outline_runs_around_the_mask_but_not_along_the_border() -> None:
    inside = np.zeros((8, 8), bool)
    inside[:3, :3] = True
    expected = np.zeros((8, 8), bool)
    expected[:4, :4] = True
    assert (outline(inside) == (expected & ~inside)).all()
