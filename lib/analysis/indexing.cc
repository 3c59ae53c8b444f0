#include "lib/analysis/indexing.h"

#include <fmt/format.h>

#include <algorithm>

namespace hlo {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
int64_t FloorMod(int64_t a, int64_t b) { return a - FloorDiv(a, b) * b; }

}  // namespace

// ---- expressions ----

int IndexExpr::AsVariable() const {
  const bool is_one = terms.size() == 1 && terms[0].coefficient == 1 && offset == 0 && IsAffine();
  return is_one ? terms[0].variable : -1;
}

int64_t IndexExpr::CoefficientOf(int variable) const {
  for (const Term& term : terms) {
    if (term.variable == variable) return term.coefficient;
  }
  return 0;
}

int64_t IndexExpr::Evaluate(absl::Span<const int64_t> variables) const {
  int64_t sum = offset;
  for (const Term& term : terms)
    sum += term.coefficient * variables[static_cast<size_t>(term.variable)];
  const int64_t quotient = FloorDiv(sum, divisor);
  return modulus == 0 ? quotient : FloorMod(quotient, modulus);
}

bool IndexConstraint::Holds(absl::Span<const int64_t> variables) const {
  const int64_t value = expr.Evaluate(variables);
  return low <= value && value <= high && FloorMod(value, multiple) == 0;
}

// ---- questions ----

int IndexingMap::output_rank() const {
  return static_cast<int>(std::count_if(variables.begin(), variables.end(), [](const auto& v) {
    return v.kind == IndexVariable::Kind::kOutput;
  }));
}

bool IndexingMap::IsAffine() const {
  return std::all_of(results.begin(), results.end(),
                     [](const IndexExpr& expr) { return expr.IsAffine(); });
}

bool IndexingMap::IsIdentity() const {
  if (!constraints.empty() || results.size() != variables.size() ||
      output_rank() != static_cast<int>(variables.size()))
    return false;
  for (size_t d = 0; d < results.size(); ++d) {
    if (results[d].AsVariable() != static_cast<int>(d)) return false;
  }
  return true;
}

bool IndexingMap::KeepsPlace(absl::Span<const int64_t> operand_dims) const {
  std::vector<int64_t> steps(variables.size(), 0);  // of the place in the operand
  int64_t offset = 0, step = 1;
  for (size_t k = results.size(); k-- > 0; step *= operand_dims[k]) {
    offset += step * results[k].offset;
    for (const IndexExpr::Term& term : results[k].terms)
      steps[static_cast<size_t>(term.variable)] += step * term.coefficient;
  }
  int64_t elements = 1;
  bool is_same = offset == 0;
  for (size_t i = variables.size(); i-- > 0;) {
    const IndexVariable& variable = variables[i];
    if (variable.size <= 1) continue;
    const bool is_output = variable.kind == IndexVariable::Kind::kOutput;
    is_same = is_same && steps[i] == (is_output ? elements : 0);
    if (is_output) elements *= variable.size;
  }
  // What is not affine is a reshape.
  return elements == step && constraints.empty() && (is_same || !IsAffine());
}

// Each output dimension that has several indices is told from one operand dimension that depends on
// it alone, and nothing is run over; or all dimensions together number the elements (reshapes).
bool IndexingMap::ReadsEachOnce() const {
  for (const IndexVariable& variable : variables) {
    if (variable.kind == IndexVariable::Kind::kRange && variable.size > 1) return false;
  }
  // Reshapes number all elements of the operand: as many as the output has, none twice.
  if (!IsAffine()) return constraints.empty();
  for (int d = 0; d < output_rank(); ++d) {
    if (variables[static_cast<size_t>(d)].size <= 1) continue;
    const bool is_told = std::any_of(results.begin(), results.end(), [&](const IndexExpr& expr) {
      if (expr.CoefficientOf(d) == 0) return false;
      // Digits of a mixed-radix number: no smaller ones reach the step of this one.
      int64_t below = 0;
      for (const IndexExpr::Term& term : expr.terms) {
        const int64_t size = variables[static_cast<size_t>(term.variable)].size;
        if (term.variable != d &&
            variables[static_cast<size_t>(term.variable)].kind == IndexVariable::Kind::kOutput &&
            std::abs(term.coefficient) <= std::abs(expr.CoefficientOf(d)))
          below += std::abs(term.coefficient) * (size - 1);
      }
      return below < std::abs(expr.CoefficientOf(d));
    });
    if (!is_told) return false;
  }
  return true;
}

int IndexingMap::OperandDimOf(int output_dim) const {
  for (size_t k = 0; k < results.size(); ++k) {
    if (OutputDimOf(static_cast<int>(k)) == output_dim) return static_cast<int>(k);
  }
  return -1;
}

int IndexingMap::OutputDimOf(int operand_dim) const {
  const IndexExpr& expr = results[static_cast<size_t>(operand_dim)];
  if (!expr.IsAffine() || expr.terms.size() != 1) return -1;
  const int variable = expr.terms[0].variable;
  return variables[static_cast<size_t>(variable)].kind == IndexVariable::Kind::kOutput ? variable
                                                                                       : -1;
}

bool IndexingMap::IsBroadcast(int output_dim) const {
  const auto depends = [output_dim](const IndexExpr& expr) {
    return expr.CoefficientOf(output_dim) != 0;
  };
  return std::none_of(results.begin(), results.end(), depends) &&
         std::none_of(constraints.begin(), constraints.end(),
                      [&](const IndexConstraint& c) { return depends(c.expr); });
}

bool IndexingMap::IsReduced(int operand_dim) const {
  const int variable = results[static_cast<size_t>(operand_dim)].AsVariable();
  return variable >= 0 &&
         variables[static_cast<size_t>(variable)].kind == IndexVariable::Kind::kRange;
}

std::pair<int64_t, int64_t> IndexingMap::RangeOf(const IndexExpr& expr) const {
  int64_t low = expr.offset, high = expr.offset;
  for (const IndexExpr::Term& term : expr.terms) {
    const int64_t reach =
        term.coefficient * (variables[static_cast<size_t>(term.variable)].size - 1);
    (reach < 0 ? low : high) += reach;
  }
  low = FloorDiv(low, expr.divisor);
  high = FloorDiv(high, expr.divisor);
  const bool wraps =
      expr.modulus != 0 && FloorDiv(low, expr.modulus) != FloorDiv(high, expr.modulus);
  if (wraps) return {0, expr.modulus - 1};
  if (expr.modulus == 0) return {low, high};
  return {FloorMod(low, expr.modulus), FloorMod(high, expr.modulus)};
}

std::optional<std::vector<int64_t>> IndexingMap::Evaluate(
    absl::Span<const int64_t> variable_values) const {
  for (const IndexConstraint& constraint : constraints) {
    if (!constraint.Holds(variable_values)) return std::nullopt;
  }
  std::vector<int64_t> index;
  for (const IndexExpr& expr : results) index.push_back(expr.Evaluate(variable_values));
  return index;
}

// ---- text ----

namespace {

// d0, s0, r0: counted within their kind.
std::vector<std::string> NamesOf(const std::vector<IndexVariable>& variables) {
  std::vector<std::string> names;
  int counts[3] = {};
  for (const IndexVariable& variable : variables) {
    const auto kind = static_cast<size_t>(variable.kind);
    names.push_back(fmt::format("{}{}", "dsr"[kind], counts[kind]++));
  }
  return names;
}

std::string SumText(const IndexExpr& expr, const std::vector<std::string>& names) {
  std::string text;
  const auto add = [&text](int64_t sign_of, const std::string& what) {
    if (text.empty()) {
      text = (sign_of < 0 ? "-" : "") + what;
    } else {
      text += (sign_of < 0 ? " - " : " + ") + what;
    }
  };
  for (const IndexExpr::Term& term : expr.terms) {
    const int64_t size = std::abs(term.coefficient);
    const std::string& name = names[static_cast<size_t>(term.variable)];
    add(term.coefficient, size == 1 ? name : fmt::format("{} * {}", size, name));
  }
  if (expr.offset != 0 || text.empty()) add(expr.offset, fmt::format("{}", std::abs(expr.offset)));
  return text;
}

std::string ExprText(const IndexExpr& expr, const std::vector<std::string>& names) {
  std::string text = SumText(expr, names);
  const bool is_sum = expr.terms.size() + (expr.offset != 0 ? 1 : 0) > 1 ||
                      (!expr.terms.empty() && expr.terms[0].coefficient != 1);
  if (is_sum && !expr.IsAffine()) text = "(" + text + ")";
  if (expr.divisor != 1) text += fmt::format(" floordiv {}", expr.divisor);
  if (expr.divisor != 1 && expr.modulus != 0) text = "(" + text + ")";
  if (expr.modulus != 0) text += fmt::format(" mod {}", expr.modulus);
  return text;
}

}  // namespace

std::string IndexingMap::ToString() const {
  const std::vector<std::string> names = NamesOf(variables);
  std::string outputs, others, indices, limits;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].kind == IndexVariable::Kind::kOutput) {
      outputs += (outputs.empty() ? "" : ", ") + names[i];
    } else {
      others += fmt::format("{}{} < {}", others.empty() ? "" : ", ", names[i], variables[i].size);
    }
  }
  for (const IndexExpr& expr : results)
    indices += (indices.empty() ? "" : ", ") + ExprText(expr, names);
  for (const IndexConstraint& constraint : constraints) {
    limits += fmt::format(", {} <= {} <= {}", constraint.low, ExprText(constraint.expr, names),
                          constraint.high);
    if (constraint.multiple != 1) limits += fmt::format(", a multiple of {}", constraint.multiple);
  }
  if (!others.empty()) others = "[" + others + "]";
  return fmt::format("({}){} -> ({}){}", outputs, others, indices, limits);
}

std::string IndexingToString(const Module& module) {
  std::string text;
  for (const Computation* computation : module.PostOrder()) {
    text += fmt::format("{}:\n", computation->name());
    for (const Instruction* instruction : computation->PostOrder()) {
      for (int i = 0; i < instruction->operand_count(); ++i) {
        const std::optional<IndexingMap> map = OperandIndexing(*instruction, i);
        text += fmt::format("  {} of {}: {}\n", instruction->name(),
                            instruction->operand(i)->name(), map ? map->ToString() : "unknown");
      }
    }
  }
  return text;
}

}  // namespace hlo
