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

bool SameLayout(const Layout& a, const Layout& b, const LayoutLeniency& leniency) {
  if (a.minor_to_major != b.minor_to_major) return false;
  if (leniency.everything) return true;
  return (leniency.tiles || a.tiles == b.tiles) &&
         (leniency.memory_space || a.memory_space == b.memory_space) &&
         (leniency.element_size || a.element_size_in_bits == b.element_size_in_bits) &&
         (leniency.tail_padding || a.tail_padding_alignment == b.tail_padding_alignment) &&
         (leniency.split_configs || a.split_configs == b.split_configs) &&
         a.dynamic_shape_metadata_prefix_bytes == b.dynamic_shape_metadata_prefix_bytes &&
         a.index_type == b.index_type && a.pointer_type == b.pointer_type;
}

bool Agree(Shape a, Shape b, const Agreement& agreement) {
  if (a == b) return true;
  if (agreement.ignore_buffer && a.IsBuffer() != b.IsBuffer()) {
    return Agree(a.IsBuffer() ? a.element(0) : a, b.IsBuffer() ? b.element(0) : b, agreement);
  }
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
  return SameLayout(a.layout(), b.layout(), agreement.leniency);
}

}  // namespace hlo::internal
