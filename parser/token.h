// The tokens of HLO text. A token is a byte range of the source; nothing is copied.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/support/source.h"
#include "lib/types/element_type.h"

namespace hlo {

enum class Tok : uint8_t {
  kEof,
  kError,      // a byte that starts no token; Token::text tells which
  kEqual,      // =
  kComma,      // ,
  kColon,      // :
  kStar,       // *
  kQuestion,   // ?
  kHash,       // #
  kPlus,       // +
  kTilde,      // ~
  kLSquare,    // [
  kRSquare,    // ]
  kLBrace,     // {
  kRBrace,     // }
  kLParen,     // (
  kRParen,     // )
  kDots,       // ...
  kArrow,      // ->
  kLeq,        // <=
  kName,       // %x or x: (without percent sign and colon)
  kIdent,      // x
  kAttr,       // x= (without the equal sign)
  kPrim,       // an element type; Token::type
  kInt,        // Token::value
  kDec,        // 1.5, 1e3, nan, -nan(0x1)
  kString,     // with its quotes
  kDimLabels,  // b01f_01io->b01f
  kDxd,        // 1x2x3
  kPad,        // 0_1x2_3
  kInf,
  kNegInf,
  kTrue,
  kFalse,
  kHloModule,
  kEntry,
  kRoot,
  kKeyword,  // the other reserved words, which are no names: maximal, replicated, …
};

struct Token {
  Tok kind = Tok::kEof;
  bool overflow = false;  // kInt: does not fit 64 bits
  bool wide = false;      // kInt: above 2^63 - 1, `value` is the bit pattern
  ElementType type = ElementType::kPred;
  uint32_t begin = 0;  // of the whole token in the source
  uint32_t end = 0;
  std::string_view text;  // without %, : and =
  int64_t value = 0;
  std::string_view problem = {};  // kError: what is wrong, when it is not just an unknown byte

  SourceLoc loc() const { return {begin, end - begin}; }
};

}  // namespace hlo
