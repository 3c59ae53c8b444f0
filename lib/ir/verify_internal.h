// What the files of the verifier share: the list of findings, comparisons of shapes, and the parts that Verify runs in turn.
// Private to lib/ir/verif*.cc.
//
// VerifyStructure comes first; when it finds anything the later parts do not run, so they may follow every pointer and walk
// without fear of cycles.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ir/module.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "lib/support/status.h"

namespace hlo::internal {

// Collects messages up to the limit.
class Findings {
 public:
  explicit Findings(int limit) : limit_(limit) {}
  bool empty() const { return diagnostics_.empty(); }
  // Nothing more is wanted.
  bool full() const { return count_ >= limit_; }

  template <class... Args>
  void Add(SourceLoc loc, fmt::format_string<Args...> format, Args&&... args) {
    AddText(loc, fmt::format(format, std::forward<Args>(args)...));
  }
  void AddText(SourceLoc loc, std::string message);
  // The messages of a failed `status`; the first one gets the place `loc` if it has none.
  void AddStatus(SourceLoc loc, const absl::Status& status);
  // "`name` is defined here", after the last message; nothing when the place is not known.
  void NoteDefinition(const Instruction& instruction);
  void NoteDefinition(const Computation& computation);
  // NoteDefinition of each distinct operand, the first few.
  void NoteOperands(const Instruction& instruction);

  absl::Status ToStatus() const;

 private:
  bool last_kept_ = false;  // notes follow a message that was kept
  int limit_;
  int count_ = 0;
  std::vector<Diagnostic> diagnostics_;
};

// How much of two shapes must agree. Dynamic dimensions always match static ones of the same size, unbounded ones any size.
struct Agreement {
  bool float_width = true;       // f32 and bf16 differ
  bool layout = false;           // minor_to_major
  bool layout_details = false;   // tiles, memory space, …; only with layout
};
bool Agree(Shape a, Shape b, const Agreement& agreement);
// Agree on types and sizes, layouts aside.
inline bool SameIgnoringLayout(Shape a, Shape b) { return Agree(a, b, {}); }

struct VerifyContext {
  const Module& module;
  const VerifierOptions& options;
  Findings& findings;
};

// verifier.cc: links, parents, names, roots, parameters, cycles.
void VerifyStructure(const VerifyContext& context);
// verify_ops.cc: one instruction against the table, its shape rule and the rules of its opcode.
void VerifyInstruction(const VerifyContext& context, const Instruction& instruction);
// verify_control.cc: fusion bodies and asynchronous pairs, channels; schedules, entry layout, aliases.
void VerifyControl(const VerifyContext& context);

}  // namespace hlo::internal
