#include "parser/lexer.h"

#include <catch2/catch.hpp>

namespace hlo {
namespace {

struct Seen {
  Tok kind;
  std::string text;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << static_cast<int>(seen.kind) << ":" << seen.text;
  }
};

std::vector<Seen> Lex(const std::string& text) {
  std::vector<Seen> seen;
  Lexer lexer(text);
  for (lexer.Next(); lexer.kind() != Tok::kEof; lexer.Next()) {
    seen.push_back({lexer.kind(), std::string(lexer.token().text)});
    if (lexer.kind() == Tok::kError) break;
  }
  return seen;
}

Seen First(const std::string& text) { return Lex(text).at(0); }

TEST_CASE("a name swallows its colon and an attribute its equal sign", "[parser][lexer]") {
  CHECK(Lex("foo: x= y =") ==
        std::vector<Seen>{
            {Tok::kName, "foo"}, {Tok::kAttr, "x"}, {Tok::kIdent, "y"}, {Tok::kEqual, "="}});
  CHECK(Lex("%x=") == std::vector<Seen>{{Tok::kName, "x"}, {Tok::kEqual, "="}});
  CHECK(First("f32:").kind == Tok::kName);
  CHECK(First("true=").kind == Tok::kAttr);
}

TEST_CASE("an identifier ends at the first other byte, at every length and place",
          "[parser][lexer]") {
  for (size_t size = 1; size <= 40; ++size) {
    for (int byte = 1; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      std::string text(size, 'Z');
      text[size - 1] = '_';
      text += c;
      text += "z9-.";
      text += std::string(20, ' ');
      const Lexer lexer(text);
      const char* end = lexer.IdentEnd(text.data());
      if (end != text.data() + size + (Lexer::IsIdentByte(c) ? 5 : 0))
        FAIL("byte " << byte << " after " << size);
    }
  }
}

TEST_CASE("a percent sign makes a name of any word", "[parser][lexer]") {
  for (const std::string word : {"true", "inf", "ROOT", "f32", "a-b.c_d"})
    CHECK(First("%" + word) == Seen{Tok::kName, word});
  CHECK(First("% x").kind == Tok::kError);
  CHECK(First("%1").kind == Tok::kError);
}

TEST_CASE("element types are words of their own, tuple and buffer are not", "[parser][lexer]") {
  for (const std::string word :
       {"pred", "s1", "u64", "bf16", "f8e4m3b11fnuz", "f4e2m1fn", "c128", "token", "opaque"}) {
    CAPTURE(word);
    CHECK(First(word).kind == Tok::kPrim);
  }
  for (const std::string word : {"tuple", "buffer", "s3", "F32", "opaque_type"})
    CHECK(First(word).kind == Tok::kIdent);
}

TEST_CASE("numbers take the first pattern that matches", "[parser][lexer]") {
  CHECK(First("12") == Seen{Tok::kInt, "12"});
  CHECK(First("-12,") == Seen{Tok::kInt, "-12"});
  for (const std::string text :
       {"1e5", "5.", "-.5", "1.5e-3", "2E+4", "nan", "-nan", "nan(0x1f)"}) {
    CHECK(First(text) == Seen{Tok::kDec, text});
  }
  CHECK(First("1x2x3") == Seen{Tok::kDxd, "1x2x3"});
  CHECK(First("0_1x-2_3_1") == Seen{Tok::kPad, "0_1x-2_3_1"});
  CHECK(First("01bf_01io->b01f") == Seen{Tok::kDimLabels, "01bf_01io->b01f"});
  CHECK(First("b01f_01io->b01f") == Seen{Tok::kDimLabels, "b01f_01io->b01f"});
  CHECK(First("?b0f_0?io->b?0f") == Seen{Tok::kDimLabels, "?b0f_0?io->b?0f"});
  CHECK(First("-inf").kind == Tok::kNegInf);
  CHECK(First("-x").kind == Tok::kError);
  CHECK(First(".5").kind == Tok::kError);
  CHECK(First("?").kind == Tok::kQuestion);
}

TEST_CASE("integers keep all 64 bits and tell when they need more", "[parser][lexer]") {
  const auto lex = [](const std::string& text) {
    Lexer lexer(text);
    lexer.Next();
    return lexer.token();
  };
  CHECK(lex("18446744073709551615").value == -1);
  CHECK(lex("18446744073709551615").wide);
  CHECK(lex("18446744073709551616").overflow);
  CHECK(lex("-9223372036854775808").value == INT64_MIN);
  CHECK(lex("-9223372036854775809").overflow);
}

TEST_CASE("comments stand between any two tokens", "[parser][lexer]") {
  CHECK(Lex("a/*x*/b//c\rd\r\n/*\n*/e").size() == 4);
  CHECK(Lex("a /* never closed").back().kind == Tok::kError);
  CHECK(First("\"/*x*/\"") == Seen{Tok::kString, "\"/*x*/\""});
}

TEST_CASE("bytes that start no token are errors", "[parser][lexer]") {
  for (const char c : std::string("@!$^&;|\\`\f\v")) {
    CAPTURE(static_cast<int>(c));
    CHECK(First(std::string(1, c)).kind == Tok::kError);
  }
  CHECK(First(std::string("\0", 1)).kind == Tok::kError);
  CHECK(First("<5").kind == Tok::kError);
  CHECK(First("<=5").kind == Tok::kLeq);
  CHECK(First("\"open").kind == Tok::kError);
}

TEST_CASE("a JSON object ends at its own brace", "[parser][lexer]") {
  const std::string text = R"({"a":"}\"}", "b":{}} rest)";
  const Lexer lexer(text);
  const char* end = lexer.SkipJsonDict(text.data());
  REQUIRE(end != nullptr);
  CHECK(std::string_view(end) == " rest");
  const std::string open = R"({"a)";
  CHECK(Lexer(open).SkipJsonDict(open.data()) == nullptr);
}

}  // namespace
}  // namespace hlo
