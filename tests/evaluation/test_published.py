from deshadow.evaluation.published import PUBLISHED_TABLES, Row, impossible


def test_two_rows_of_the_paper_s_first_table_cannot_be_right() -> None:
    flagged = {
        table.data: [row.method for row in table.rows if impossible(row)] for table in PUBLISHED_TABLES
    }
    assert flagged == {"AISTD": ["Palette", "RePaint"], "ISTD": [], "SRD": []}


def test_a_row_is_flagged_on_either_side_and_only_when_it_is_complete() -> None:
    assert impossible(Row("a", (5, None, None), (3, None, None), (5.1, None, None)))
    assert impossible(Row("a", (5, None, None), (3, None, None), (2.9, None, None)))
    assert not impossible(Row("a", (5, None, None), (3, None, None), (3, None, None)))
    assert not impossible(Row("a", (5, None, None), all=(9, None, None)))
