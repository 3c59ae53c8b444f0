// Which arrays are others with one dimension looked up.
//
//   g = f32[4,3] gather(f32[9,3] x, s32[4] i), collapsed_slice_dims={0}, …
//       (scalar-indexed %x %i 0->[0]): g[a,b] = x[i[a],b]
//
// Such an array is described by a source, an array of indices, the dimension of the source that
// they index, and the dimensions of the array that they are indexed by; all other dimensions follow
// in order. What is computed from it element by element, or by a product over other dimensions, is
// the same with another source, which is known when it is a constant:
//
//   multiply(g, broadcast(c)), x and c constants      (scalar-indexed-const (constant
//                                                     f32[9,3]) %i 0->[0])
//
// O(instructions), but for what is computed of constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/ir/module.h"

namespace hlo {

struct IndexedArray {
  enum class Kind : uint8_t { kUnknown, kConstant, kReshaped, kScalarIndexed };
  using Ptr = std::shared_ptr<const IndexedArray>;

  Kind kind = Kind::kUnknown;
  Shape shape;
  const Instruction* instruction = nullptr;  // kUnknown
  Literal literal;                           // kConstant
  Ptr source;                                // kReshaped, kScalarIndexed
  Ptr indices;                               // kScalarIndexed
  int64_t source_dim = 0;
  std::vector<int64_t> output_dims;

  bool IsConstant() const { return kind == Kind::kConstant; }
  // Of a source whose elements are known.
  bool IsScalarIndexedConstant() const {
    return kind == Kind::kScalarIndexed && source->IsConstant();
  }
  // "(scalar-indexed %x %i 0->[0])"
  std::string ToString() const;
};

class IndexedArrays {
 public:
  // What `instruction` is; made once.
  IndexedArray::Ptr Of(const Instruction& instruction);

  // A line for each instruction outside of fusions that is neither unknown nor a constant.
  static std::string ToString(const Module& module);

 private:
  IndexedArray::Ptr Make(const Instruction& instruction);

  absl::flat_hash_map<const Instruction*, IndexedArray::Ptr> known_;  // looked up only
};

}  // namespace hlo
