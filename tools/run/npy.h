// Arrays in NumPy's .npy format and collections of them in .npz (zip) archives.
//
// Types without a NumPy name are stored as bytes: bf16 as `<V2`, the f8, f6 and f4 types as `|V1`;
// sub-byte integers as int8 or uint8, one value each. Written arrays are in C order, little-endian.
// Read are also Fortran order, other byte orders, and archives with stored or deflated members.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/types/literal.h"

namespace hlo {

// An array as the file describes it.
struct NpyArray {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<int64_t> dims;
  std::string_view data;  // inside the text it was read from
};

// Reads the header of a .npy text, which must outlive the result.
absl::StatusOr<NpyArray> ParseNpy(std::string_view text);
// The shape in HLO's words, as well as the type word tells it: "f32[2,3]", "V2[4]".
std::string Describe(const NpyArray& array);
// The array as a literal of this shape. A type that cannot be meant, other dimensions or values
// that do not fit are errors.
absl::StatusOr<Literal> ToLiteral(const NpyArray& array, Shape shape);

// The .npy text of an array.
std::string NpyText(const Literal& array);
// The `descr` word that an element type is stored under.
std::string_view NpyDescr(ElementType type);

// One member of an archive.
struct NpzMember {
  std::string name;  // without ".npy"
  std::string text;
};
absl::StatusOr<std::vector<NpzMember>> ReadNpz(std::string_view text);
// An archive of these members, stored as they are; an error where it needs 4 GiB.
absl::StatusOr<std::string> NpzText(const std::vector<NpzMember>& members);

}  // namespace hlo
