#include "tools/support/random_arguments.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include "lib/analysis/region.h"
#include "tools/support/generator.h"

namespace hlo {

namespace {

// The value that reductions by `opcode` start with, everywhere.
std::optional<Literal> Start(Opcode opcode, Shape shape) {
  const ElementType type = shape.element_type();
  const std::optional<Literal> identity =
      opcode == Opcode::kAdd ? Literal::Zero(type) : IdentityOf(opcode, type);
  if (!identity) return std::nullopt;
  Literal filled(shape.WithoutDynamic());
  const auto bytes = static_cast<size_t>(identity->byte_size());
  for (int64_t i = 0; i < filled.element_count(); ++i)
    std::memcpy(filled.mutable_data() + static_cast<size_t>(i) * bytes, identity->data(), bytes);
  return filled;
}

// Each matrix A of numbers in [-1, 1) becomes (A + A*) / 2n + 2 I, whose eigenvalues lie in [1, 3].
void MakePositiveDefinite(Literal& matrices) {
  const Shape shape = matrices.shape();
  const int64_t n = shape.dim(shape.rank() - 1);
  const bool is_complex = IsComplex(shape.element_type());
  const auto scale = static_cast<double>(2 * n);
  for (int64_t first = 0; first < matrices.element_count(); first += n * n) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const int64_t lower = first + i * n + j, upper = first + j * n + i;
        const double diagonal = i == j ? 2 : 0;
        if (is_complex) {
          const std::complex<double> mean =
              (matrices.GetComplex(lower) + std::conj(matrices.GetComplex(upper))) / scale +
              diagonal;
          matrices.SetComplex(lower, mean);
          matrices.SetComplex(upper, std::conj(mean));
        } else {
          const double mean =
              (matrices.GetDouble(lower) + matrices.GetDouble(upper)) / scale + diagonal;
          matrices.SetDouble(lower, mean);
          matrices.SetDouble(upper, mean);
        }
      }
    }
  }
}

// Index vectors of `columns` numbers: each column in ascending order, and with it the vectors.
void Sort(Literal& indices, int64_t columns) {
  const int64_t rows = indices.element_count() / columns;
  std::vector<int64_t> column(static_cast<size_t>(rows));
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r)
      column[static_cast<size_t>(r)] = indices.GetInt(r * columns + c);
    std::sort(column.begin(), column.end());
    for (int64_t r = 0; r < rows; ++r)
      indices.SetInt(r * columns + c, column[static_cast<size_t>(r)]);
  }
}

// The first column counts on from where it began, in steps that meet each of 0..limit before one
// comes back.
void MakeDistinct(Literal& indices, int64_t columns, int64_t limit) {
  const int64_t rows = indices.element_count() / columns, numbers = limit + 1;
  int64_t step = numbers / 2 + 1;
  while (std::gcd(step, numbers) != 1) ++step;
  int64_t index = rows > 0 ? indices.GetInt(0) % numbers : 0;
  for (int64_t r = 0; r < rows; ++r, index = (index + step) % numbers)
    indices.SetInt(r * columns, index);
}

// About equal parts of a sum.
void Share(Literal& sizes, int64_t sum) {
  const int64_t count = sizes.element_count();
  for (int64_t i = 0; i < count; ++i) sizes.SetInt(i, sum * (i + 1) / count - sum * i / count);
}

bool HoldsSquareMatrices(Shape shape) {
  const int rank = shape.rank();
  return rank >= 2 && shape.dim(rank - 1) == shape.dim(rank - 2) && shape.dim(rank - 1) > 0;
}

}  // namespace

Literal RandomLeaf(Shape shape, const InputDemand& demand, uint64_t seed, int64_t number) {
  const ElementType type = shape.element_type();
  if (demand.starts && !demand.index_limit) {
    if (std::optional<Literal> start = Start(*demand.starts, shape)) return *std::move(start);
  }
  InputSpec spec;
  if (IsInteger(type) || IsPred(type)) {
    spec.kind = InputSpec::Kind::kRandint;
    const int value_bits = std::min(BitWidth(type) - (IsSigned(type) ? 1 : 0), 31);
    const int64_t most = int64_t{1} << value_bits;  // one more than the largest value
    spec.int_lo = IsSigned(type) ? -std::min<int64_t>(most, 8) : 0;
    spec.int_hi = IsPred(type) ? 2 : std::min<int64_t>(most, IsSigned(type) ? 8 : 16);
    if (demand.index_limit) {
      spec.int_lo = 0;
      spec.int_hi = std::min(most - 1, *demand.index_limit) + 1;
    }
    Literal value = GenerateInput(shape.WithoutDynamic(), spec, seed, number);
    if (value.element_count() == 0 || !IsInteger(type)) return value;
    const auto divides = [&](int64_t columns) {
      return columns > 0 && value.element_count() % columns == 0;
    };
    if (divides(demand.distinct_columns) && demand.index_limit)
      MakeDistinct(value, demand.distinct_columns, spec.int_hi - 1);
    if (divides(demand.sorted_columns)) Sort(value, demand.sorted_columns);
    if (demand.sum) Share(value, *demand.sum);
    return value;
  }
  spec.lo = type == ElementType::kF8E8M0FNU ? 0.5 : -1;  // that type has no sign
  const bool is_real = IsFloat(type);
  if (demand.is_positive && is_real) spec.lo = std::max(spec.lo, 1.0 / 16);
  Literal value = GenerateInput(shape.WithoutDynamic(), spec, seed, number);
  if (demand.is_positive_definite && HoldsSquareMatrices(shape)) MakePositiveDefinite(value);
  return value;
}

void AppendRandomLeaves(const Module& module, const std::vector<ParameterLeaf>& leaves,
                        uint64_t seed, std::vector<Literal>& arrays) {
  const std::map<LeafKey, InputDemand> demands = InputDemands(module);
  for (size_t i = arrays.size(); i < leaves.size(); ++i) {
    const auto found =
        demands.find({leaves[i].parameter, {leaves[i].index.begin(), leaves[i].index.end()}});
    const InputDemand demand = found == demands.end() ? InputDemand() : found->second;
    arrays.push_back(RandomLeaf(leaves[i].shape, demand, seed, static_cast<int64_t>(i)));
  }
}

std::vector<Literal> AssembleArguments(const Module& module, const std::vector<Literal>& leaves) {
  std::vector<Literal> values;
  size_t at = 0;
  for (const Instruction* parameter : module.entry()->parameters()) {
    values.push_back(FromLeaves(parameter->shape(), leaves, at));
  }
  return values;
}

std::vector<Literal> RandomArguments(const Module& module, uint64_t seed) {
  std::vector<Literal> arrays;
  AppendRandomLeaves(module, ParameterLeaves(*module.entry()), seed, arrays);
  return AssembleArguments(module, arrays);
}

}  // namespace hlo
