#include "tools/run/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/support/read_number.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "lib/types/element_access.h"

namespace hlo {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The text of the value of `key` in a header `{'descr': '<f4', 'fortran_order': False, 'shape': (2,
// 3), }`.
std::string_view HeaderValue(std::string_view header, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    const std::string quoted = fmt::format("{}{}{}", quote, key, quote);
    const size_t at = header.find(quoted);
    if (at == std::string_view::npos) continue;
    std::string_view rest = header.substr(at + quoted.size());
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return "";
    return Trim(rest.substr(colon + 1));
  }
  return "";
}

bool ParseDims(std::string_view text, std::vector<int64_t>& dims) {
  if (text.empty() || text[0] != '(' || text.find(')') == std::string_view::npos) return false;
  text = text.substr(1, text.find(')') - 1);
  for (std::string_view item : Split(text, ',')) {
    item = Trim(item);
    if (item.empty()) continue;  // "(3,)"
    const std::optional<int64_t> size = TakeNumber<int64_t>(item);
    if (!size || *size < 0 || !(item.empty() || item[0] == 'L')) return false;
    dims.push_back(*size);
  }
  return true;
}

int64_t ItemSize(std::string_view descr) {
  if (descr.size() <= 2) return 0;
  descr.remove_prefix(2);
  return TakeNumber<int64_t>(descr).value_or(0);
}

// The HLO word for a descr such as "<f4"; "" for void types.
std::string TypeWord(std::string_view descr) {
  const int64_t bits = 8 * ItemSize(descr);
  switch (descr[1]) {
    case 'b': return "pred";
    case 'i': return fmt::format("s{}", bits);
    case 'u': return fmt::format("u{}", bits);
    case 'f': return fmt::format("f{}", bits);
    case 'c': return fmt::format("c{}", bits);
    default: return "";
  }
}

// Whether an array of this descr may be meant for `type`.
bool TypeMatches(std::string_view descr, ElementType type) {
  const std::string_view want = NpyDescr(type);
  if (IsSubByte(type) && descr.substr(1) == "V1") return true;
  // What NumPy writes for the f8 types of ml_dtypes.
  if (IsFloat(type) && ByteSize(type) == 1 && descr.substr(1) == "f1") return true;
  return descr[1] == want[1] && descr.substr(2) == want.substr(2);
}

// One copy of the data in C order and native byte order.
void CopyInOrder(const NpyArray& array, int64_t item, uint8_t* to) {
  const auto* from = reinterpret_cast<const uint8_t*>(array.data.data());
  const int64_t count = Product(array.dims);
  if (!array.fortran_order || array.dims.size() < 2) {
    std::memcpy(to, from, static_cast<size_t>(count * item));
    return;
  }
  DimVec index(array.dims.size(), 0);
  DimVec strides(array.dims.size(), 1);
  for (size_t d = 1; d < array.dims.size(); ++d) strides[d] = strides[d - 1] * array.dims[d - 1];
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (size_t d = 0; d < index.size(); ++d) place += index[d] * strides[d];
    std::memcpy(to + i * item, from + place * item, static_cast<size_t>(item));
    NextIndex(absl::MakeSpan(index), array.dims);
  }
}

void SwapBytes(uint8_t* data, int64_t count, int64_t part) {
  for (int64_t i = 0; i < count; ++i) std::reverse(data + i * part, data + (i + 1) * part);
}

// NumPy's own 4-bit and 2-bit types leave the high bits of a byte open: they become copies of the
// sign, or zero.
void ExtendLowBits(ElementType type, uint8_t* data, int64_t count) {
  const int unused = 8 - BitWidth(type);
  for (int64_t i = 0; i < count; ++i) {
    const auto high = static_cast<uint8_t>(data[i] << unused);
    data[i] = IsSigned(type) ? static_cast<uint8_t>(static_cast<int8_t>(high) >> unused)
                             : static_cast<uint8_t>(high >> unused);
  }
}

// Values of sub-byte integers and small floats take a whole byte; not every byte is a value.
absl::Status CheckRange(const Literal& literal) {
  const ElementType type = literal.element_type();
  const int bits = BitWidth(type);
  if (!IsSubByte(type) && !IsPred(type)) return absl::OkStatus();
  for (int64_t i = 0; i < literal.element_count(); ++i) {
    const uint8_t byte = literal.data()[i];
    const int value = IsSigned(type) ? static_cast<int8_t>(byte) : byte;
    const int low = IsSigned(type) ? -(1 << (bits - 1)) : 0;
    const int high = IsSigned(type) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
    if (value < low || value > high) {
      return Error("value {} at index [{}] does not fit `{}`", value,
                   fmt::join(MultiIndex(i, literal.shape().dims()), ","), Text(type));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NpyArray> ParseNpy(std::string_view text) {
  if (text.substr(0, kMagic.size()) != kMagic || text.size() < 10)
    return Error("this is no .npy file");
  const auto byte = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at]));
  };
  const uint32_t version = byte(6);
  size_t begin = 10;
  size_t length = byte(8) | byte(9) << 8;
  if (version >= 2) {
    if (text.size() < 12) return Error("the file ends inside its header");
    begin = 12;
    length |= static_cast<size_t>(byte(10)) << 16 | static_cast<size_t>(byte(11)) << 24;
  }
  if (version < 1 || version > 3) return Error("version {} of .npy is not known", version);
  if (text.size() < begin + length) return Error("the file ends inside its header");
  const std::string_view header = text.substr(begin, length);
  NpyArray array;
  std::string_view descr = HeaderValue(header, "descr");
  if (descr.size() < 2 || (descr[0] != '\'' && descr[0] != '"'))
    return Error("the header names no simple element type");
  descr = descr.substr(1, descr.find(descr[0], 1) - 1);
  if (descr.size() < 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos ||
      ItemSize(descr) <= 0) {
    return Error("element type `{}` is not known", descr);
  }
  array.descr = descr;
  array.fortran_order = HeaderValue(header, "fortran_order").substr(0, 4) == "True";
  if (!ParseDims(HeaderValue(header, "shape"), array.dims))
    return Error("the header has no sound `shape`");
  const std::optional<int64_t> count = CheckedProduct(array.dims);
  array.data = text.substr(begin + length);
  const auto room = static_cast<int64_t>(array.data.size());
  if (!count || *count > room / ItemSize(descr)) {
    return Error("{} bytes of data are too few for `{}`", room, Describe(array));
  }
  if (*count * ItemSize(descr) != room) {
    return Error("{} bytes of data are too many for `{}`", room, Describe(array));
  }
  return array;
}

std::string Describe(const NpyArray& array) {
  std::string word = TypeWord(array.descr);
  if (word.empty()) word = array.descr.substr(1);
  return fmt::format("{}[{}]", word, fmt::join(array.dims, ","));
}

absl::StatusOr<Literal> ToLiteral(const NpyArray& array, Shape shape) {
  const Shape target = shape.WithoutDynamic();
  if (!TypeMatches(array.descr, shape.element_type()) ||
      !std::equal(array.dims.begin(), array.dims.end(), target.dims().begin(),
                  target.dims().end())) {
    return Error("expected `{}`{}, found `{}`", shape,
                 TypeWord(NpyDescr(shape.element_type())).empty()
                     ? fmt::format(" (stored as {})", NpyDescr(shape.element_type()))
                     : "",
                 Describe(array));
  }
  Literal literal(target);
  if (target.IsZeroSized()) return literal;
  const int64_t item = ByteSize(target.element_type());
  uint8_t* data = literal.mutable_data();
  CopyInOrder(array, item, data);
  if (array.descr[0] == '>' && item > 1) {
    const bool is_complex = IsComplex(target.element_type());
    SwapBytes(data, target.element_count() * (is_complex ? 2 : 1), is_complex ? item / 2 : item);
  }
  if (array.descr[1] == 'V' && IsSubByte(target.element_type()))
    ExtendLowBits(target.element_type(), data, target.element_count());
  RETURN_IF_ERROR(CheckRange(literal));
  return literal;
}

std::string_view NpyDescr(ElementType type) {
  if (IsPred(type)) return "|b1";
  if (type == ElementType::kBF16) return "<V2";
  if (IsFloat(type) && ByteSize(type) == 1) return "|V1";
  switch (ByteSize(type)) {
    case 1: return IsSigned(type) ? "|i1" : "|u1";
    case 2: return IsSigned(type) ? "<i2" : IsFloat(type) ? "<f2" : "<u2";
    case 4: return IsSigned(type) ? "<i4" : IsFloat(type) ? "<f4" : "<u4";
    case 8: return IsSigned(type) ? "<i8" : IsFloat(type) ? "<f8" : IsComplex(type) ? "<c8" : "<u8";
    default: return "<c16";
  }
}

std::string NpyText(const Literal& array) {
  std::string dims;
  for (const int64_t dim : array.shape().dims())
    dims += fmt::format("{}{},", dims.empty() ? "" : " ", dim);
  if (array.shape().rank() > 1) dims.pop_back();
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   NpyDescr(array.element_type()), dims);
  // The data start at a multiple of 64.
  const size_t unpadded = 10 + header.size() + 1;
  header += std::string((64 - unpadded % 64) % 64, ' ') + '\n';
  std::string text(kMagic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  if (array.byte_size() > 0)
    text.append(reinterpret_cast<const char*>(array.data()),
                static_cast<size_t>(array.byte_size()));
  return text;
}

}  // namespace hlo
