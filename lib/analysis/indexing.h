// Where the elements of a result come from: per operand a map from the index of an output element
// to the indices of the operand that it reads, as data.
//
//   transpose, dimensions={1,0}        (d0, d1) -> (d1, d0)
//   broadcast, dimensions={0}          (d0, d1) -> (d0)
//   slice={[2:8:3], [0:4]}             (d0, d1) -> (3 * d0 + 2, d1)
//   reverse of 5 elements              (d0) -> (-d0 + 4)
//   reshape f32[6] -> f32[2,3]         (d0, d1) -> (3 * d0 + d1)
//   reshape f32[2,3] -> f32[6]         (d0) -> (d0 floordiv 3, d0 mod 3)
//   reduce, dimensions={1}             (d0)[s0 < 8] -> (d0, s0)
//   pad low 1, of 4 elements           (d0) -> (d0 - 1), 0 <= d0 - 1 < 4
//   dynamic-slice                      (d0)[r0 <= 12] -> (d0 + r0)
//
// Variables: d the dimensions of the output; s what the operation runs over for one element
// (reduced and contracted dimensions, windows): it reads the operand for every value; r numbers
// that are known at run time only, with the range that they have after clamping.
//
// Index arithmetic is exact division and remainder towards minus infinity with known ranges, so a
// negative coefficient is nothing special. An element whose constraints do not hold reads nothing
// of this operand (padding, another operand of a concatenation, outside of a window).
//
// Layouts, tiles and dynamic sizes are not looked at: indices are logical. Making a map is O(rank
// of the operand and the output).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "lib/ir/module.h"

namespace hlo {

struct IndexVariable {
  enum class Kind : uint8_t { kOutput, kRange, kRuntime };
  Kind kind = Kind::kOutput;
  int64_t size = 0;  // it is 0 .. size - 1
  friend bool operator==(const IndexVariable&, const IndexVariable&) = default;
};

// (sum of coefficient * variable + offset) floordiv divisor, then mod modulus unless that is 0.
struct IndexExpr {
  struct Term {
    int variable = 0;
    int64_t coefficient = 1;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;  // by variable, coefficients not 0
  int64_t offset = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;

  static IndexExpr Constant(int64_t value) { return {{}, value}; }
  static IndexExpr Variable(int variable, int64_t coefficient = 1, int64_t offset = 0) {
    return {{{variable, coefficient}}, offset};
  }
  bool IsAffine() const { return divisor == 1 && modulus == 0; }
  // The variable that it is, and nothing else; -1 for others.
  int AsVariable() const;
  // Of a variable in the sum; 0 if it is not there.
  int64_t CoefficientOf(int variable) const;
  int64_t Evaluate(absl::Span<const int64_t> variables) const;
  friend bool operator==(const IndexExpr&, const IndexExpr&) = default;
};

// low <= expr <= high, and expr is a multiple of `multiple`.
struct IndexConstraint {
  IndexExpr expr;
  int64_t low = 0;
  int64_t high = 0;
  int64_t multiple = 1;
  bool Holds(absl::Span<const int64_t> variables) const;
  friend bool operator==(const IndexConstraint&, const IndexConstraint&) = default;
};

struct IndexingMap {
  std::vector<IndexVariable> variables;  // those of the output first, one per dimension
  std::vector<IndexExpr> results;        // one per dimension of the operand
  std::vector<IndexConstraint> constraints;

  int output_rank() const;
  bool IsAffine() const;
  // Element i of the output reads element i of the operand and no other.
  bool IsIdentity() const;
  // Element number i of the output, counted in row-major order, reads number i of the operand, of
  // these dimensions, and no other: reshapes do, too.
  bool KeepsPlace(absl::Span<const int64_t> operand_dims) const;
  // Elements of the output that differ read different elements of the operand, each one at most.
  bool ReadsEachOnce() const;
  // What becomes of a dimension. Kept: the operand's dimension runs along this one of the output,
  // by a constant step from a constant start; -1 if there is none.
  int OperandDimOf(int output_dim) const;
  int OutputDimOf(int operand_dim) const;
  // The operand is the same all along this dimension of the output.
  bool IsBroadcast(int output_dim) const;
  // All of this dimension of the operand goes into each element.
  bool IsReduced(int operand_dim) const;

  // Smallest and largest value, with every variable anywhere in its range.
  std::pair<int64_t, int64_t> RangeOf(const IndexExpr& expr) const;
  // The index of the operand; none where a constraint does not hold.
  std::optional<std::vector<int64_t>> Evaluate(absl::Span<const int64_t> variable_values) const;

  // "(d0, d1)[s0 < 8] -> (d0, 2 * s0 + d1), 0 <= d1 < 4"
  std::string ToString() const;
  friend bool operator==(const IndexingMap&, const IndexingMap&) = default;
};

// How element (d0, …) of the result, of a tuple of its element `output`, reads operand `operand`.
// None where that is not known: of what looks at indices that are data in other ways, at several
// devices, or calls.
std::optional<IndexingMap> OperandIndexing(const Instruction& instruction, int operand,
                                           int output = 0);

// What the variables of `map` stand for where the index of the output is known: the output's
// `outputs`, the others what `other` says of them.
template <class T, class Other>
std::vector<T> BindVariables(const IndexingMap& map, const std::vector<T>& outputs,
                             const Other& other) {
  std::vector<T> values;
  for (const IndexVariable& variable : map.variables) {
    values.push_back(variable.kind == IndexVariable::Kind::kOutput ? outputs[values.size()]
                                                                   : other(variable));
  }
  return values;
}

// Reading by way of a value between: `outer` says at which of its elements it is read, `inner`,
// which elements of an operand of dimensions `operand_dims` each of these reads.
//
//   transpose of slice={[2:5], [0:4]}        (d0, d1) -> (d1 + 2, d0)
//   row sums of transpose, dimensions={1,0}  (d0)[s0 < 8] -> (s0, d0)
//
// Variables that the two run over run one inside the other: those of `outer` come first. A
// reshape between keeps only the place of an element, so that both have to; then the outcome is
// the identity on `operand_dims`. None where it is not affine otherwise.
std::optional<IndexingMap> Compose(const IndexingMap& outer, const IndexingMap& inner,
                                   absl::Span<const int64_t> operand_dims);
// Element i of an array of these dimensions reads element i.
IndexingMap IdentityMap(absl::Span<const int64_t> dims);

// The maps of every instruction with operands.
std::string IndexingToString(const Module& module);

}  // namespace hlo
