#include "backends/cpu/families/affine.h"

namespace hlo::cpu {

Affine Affine::Constant(int64_t value) {
  Affine a;
  a.constant = value;
  return a;
}

Affine Affine::Variable(int32_t variable, int64_t coefficient) {
  Affine a;
  if (coefficient != 0) a.terms.push_back({variable, coefficient});
  return a;
}

int64_t Affine::CoefficientOf(int32_t variable) const {
  for (const Term& term : terms) {
    if (term.variable == variable) return term.coefficient;
  }
  return 0;
}

void Affine::Add(const Affine& other, int64_t scale) {
  constant += scale * other.constant;
  if (scale == 0 || other.terms.empty()) return;
  absl::InlinedVector<Term, 2> merged;
  size_t i = 0, j = 0;
  while (i < terms.size() || j < other.terms.size()) {
    const bool take_own = j == other.terms.size() ||
                          (i < terms.size() && terms[i].variable < other.terms[j].variable);
    if (take_own) {
      merged.push_back(terms[i++]);
      continue;
    }
    Term term = {other.terms[j].variable, scale * other.terms[j].coefficient};
    if (i < terms.size() && terms[i].variable == term.variable)
      term.coefficient += terms[i++].coefficient;
    ++j;
    if (term.coefficient != 0) merged.push_back(term);
  }
  terms = std::move(merged);
}

Affine Linear(const Index& index, absl::Span<const int64_t> dims) {
  Affine result;
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    result.Add(index[d], stride);
    stride *= dims[d];
  }
  return result;
}

}  // namespace hlo::cpu
