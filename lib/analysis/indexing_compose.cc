#include <algorithm>

#include "lib/analysis/indexing.h"

namespace hlo {
namespace {

// to += scale * from
void Add(IndexExpr& to, const IndexExpr& from, int64_t scale) {
  to.offset += scale * from.offset;
  for (const IndexExpr::Term& term : from.terms) {
    const auto it = std::lower_bound(
        to.terms.begin(), to.terms.end(), term.variable,
        [](const IndexExpr::Term& t, int variable) { return t.variable < variable; });
    if (it == to.terms.end() || it->variable != term.variable) {
      to.terms.insert(it, {term.variable, scale * term.coefficient});
    } else if ((it->coefficient += scale * term.coefficient) == 0) {
      to.terms.erase(it);
    }
  }
}

// An affine expression of variables that are affine themselves.
IndexExpr Substituted(const IndexExpr& expr, const std::vector<IndexExpr>& values) {
  IndexExpr sum = IndexExpr::Constant(expr.offset);
  for (const IndexExpr::Term& term : expr.terms)
    Add(sum, values[static_cast<size_t>(term.variable)], term.coefficient);
  return sum;
}

std::vector<int64_t> OutputDims(const IndexingMap& map) {
  std::vector<int64_t> dims;
  for (const IndexVariable& variable : map.variables) {
    if (variable.kind == IndexVariable::Kind::kOutput) dims.push_back(variable.size);
  }
  return dims;
}

}  // namespace

IndexingMap IdentityMap(absl::Span<const int64_t> dims) {
  IndexingMap map;
  for (const int64_t size : dims) {
    map.results.push_back(IndexExpr::Variable(static_cast<int>(map.variables.size())));
    map.variables.push_back({IndexVariable::Kind::kOutput, size});
  }
  return map;
}

std::optional<IndexingMap> Compose(const IndexingMap& outer, const IndexingMap& inner,
                                   absl::Span<const int64_t> operand_dims) {
  if (!outer.IsAffine() || !inner.IsAffine()) {
    if (!inner.KeepsPlace(operand_dims) || !outer.KeepsPlace(OutputDims(inner)))
      return std::nullopt;
    return IdentityMap(operand_dims);
  }
  IndexingMap result;
  result.variables = outer.variables;
  result.constraints = outer.constraints;
  const std::vector<IndexExpr> values =
      BindVariables(inner, outer.results, [&](const IndexVariable& variable) {
        if (variable.size <= 1) return IndexExpr();
        result.variables.push_back(variable);
        return IndexExpr::Variable(static_cast<int>(result.variables.size()) - 1);
      });
  for (const IndexExpr& expr : inner.results) result.results.push_back(Substituted(expr, values));
  for (const IndexConstraint& constraint : inner.constraints) {
    if (!constraint.expr.IsAffine()) return std::nullopt;
    result.constraints.push_back(constraint);
    result.constraints.back().expr = Substituted(constraint.expr, values);
  }
  return result;
}

}  // namespace hlo
