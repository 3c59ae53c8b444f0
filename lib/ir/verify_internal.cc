// The verifier's list of findings and its comparison of shapes.
#include "lib/ir/verify_internal.h"

#include <algorithm>

namespace hlo::internal {

// ---- findings ----

void Findings::AddText(SourceLoc loc, std::string message) {
  last_kept_ = !full();
  if (!last_kept_) return;
  ++count_;
  diagnostics_.push_back({Severity::kError, loc, std::move(message)});
}

void Findings::AddStatus(SourceLoc loc, const absl::Status& status) {
  last_kept_ = !full();
  if (!last_kept_) return;
  ++count_;
  for (Diagnostic& diagnostic : DiagnosticsOf(AddLocation(status, loc)))
    diagnostics_.push_back(std::move(diagnostic));
}

void Findings::NoteDefinition(const Instruction& instruction) {
  if (!last_kept_ || !instruction.loc().known()) return;
  diagnostics_.push_back({Severity::kNote, instruction.loc(),
                          fmt::format("`{}` is defined here", instruction.name())});
}

void Findings::NoteDefinition(const Computation& computation) {
  if (!last_kept_ || !computation.loc().known()) return;
  diagnostics_.push_back({Severity::kNote, computation.loc(),
                          fmt::format("`{}` is defined here", computation.name())});
}

void Findings::NoteOperands(const Instruction& instruction) {
  constexpr int kMost = 3;
  const int count = std::min(instruction.operand_count(), kMost);
  for (int i = 0; i < count; ++i) {
    bool seen = false;
    for (int k = 0; k < i; ++k) seen = seen || instruction.operand(k) == instruction.operand(i);
    if (!seen) NoteDefinition(*instruction.operand(i));
  }
}

absl::Status Findings::ToStatus() const {
  return diagnostics_.empty() ? absl::OkStatus()
                              : StatusOf(absl::StatusCode::kInvalidArgument, diagnostics_);
}

// ---- shapes ----

bool Agree(Shape a, Shape b, const Agreement& agreement) {
  if (a == b) return true;
  if (a.elements().size() != b.elements().size()) return false;
  const ElementType type = a.element_type();
  if (type != b.element_type()) {
    if (agreement.float_width || !IsFloat(type) || !IsFloat(b.element_type())) return false;
  }
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!Agree(a.elements()[i], b.elements()[i], agreement)) return false;
  }
  if (!a.IsArray()) return true;
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    const int64_t x = a.dim(d);
    const int64_t y = b.dim(d);
    if (x != y && x != Shape::kUnbounded && y != Shape::kUnbounded) return false;
  }
  if (!agreement.layout || !a.has_layout() || !b.has_layout()) return true;
  if (agreement.layout_details) return a.layout() == b.layout();
  return a.layout().minor_to_major == b.layout().minor_to_major;
}

}  // namespace hlo::internal
