#!/usr/bin/env python3
"""What the repository check finds in the text of C++ files, and what it leaves alone. Runs no program."""

import unittest

import lint_source


def found(text):
    code = lint_source.blanked(text)
    return list(lint_source.defaults(code, lint_source.enumerations(code), lint_source.enumerators(code)))


COLOR = "enum class Color : uint8_t { kRed, kGreen };\n"


class Defaults(unittest.TestCase):
    def test_over_an_enumeration(self):
        self.assertEqual(found(COLOR + "int F(Color c) {\n"
                                       "  switch (c) {\n"
                                       "    case Color::kRed: return 1;\n"
                                       "    default: return 0;\n"
                                       "  }\n"
                                       "}\n"), [5])

    def test_over_an_enumeration_of_a_namespace(self):
        self.assertEqual(found(COLOR + "switch (c) {\n  case hlo::Color::kRed: break;\n  default: break;\n}\n"), [4])

    def test_over_values_without_their_enumeration(self):
        switch = "switch (c) {\n  case kRed: break;\n  default: break;\n}\n"
        self.assertEqual(found(COLOR + "using enum hlo::Color;\n" + switch), [5])
        self.assertEqual(found(COLOR + switch), [4])  # `using enum` stands in a header
        self.assertEqual(found("enum class Color {\n  kBlue,\n  kRed = 4,  // warm\n};\n" + switch), [7])
        self.assertEqual(found(COLOR.replace("kRed", "kBlue") + "constexpr int kRed = 1;\n" + switch), [])
        self.assertEqual(found(COLOR + "enum Shade { kDark, kRed };\n" + switch), [])

    def test_over_numbers_characters_and_the_enumerations_of_others(self):
        for case in ("4", "'x'", "llvm::Intrinsic::fma", "Color::CPPTYPE_BOOL", "Shade::kRed"):
            with self.subTest(case=case):
                self.assertEqual(found(COLOR + f"switch (c) {{\n  case {case}: break;\n  default: break;\n}}\n"), [])

    def test_all_values(self):
        self.assertEqual(found(COLOR + "switch (c) {\n  case Color::kRed:\n  case Color::kGreen: break;\n}\n"), [])

    def test_one_switch_within_another(self):
        inner = "switch (n) {\n  case 1: break;\n  default: break;\n}\n"
        self.assertEqual(found(COLOR + "switch (c) {\n  case Color::kRed: break;\n  case Color::kGreen:\n" + inner + "}\n"), [])
        outer = "switch (n) {\n  case 1:\n    switch (c) {\n      case Color::kRed: break;\n      default: break;\n    }\n}\n"
        self.assertEqual(found(COLOR + outer), [6])

    def test_text_and_comments(self):
        self.assertEqual(found(COLOR + 'switch (c) {\n  case Color::kRed: Say("default:"); break;  // default: none\n}\n'), [])


if __name__ == "__main__":
    unittest.main()
