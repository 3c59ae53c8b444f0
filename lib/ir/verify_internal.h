// What the files of the verifier share: the list of findings, comparisons of shapes, and the parts
// that Verify runs in turn. Private to lib/ir/verif*.cc.
//
// VerifyStructure comes first; when it finds anything the later parts do not run, so they may
// follow every pointer and walk without fear of cycles.
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
  // Messages kept so far, notes not counted.
  size_t count() const { return static_cast<size_t>(count_); }

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
  int limit_;
  int count_ = 0;
  bool last_kept_ = false;  // notes follow a message that was kept
  std::vector<Diagnostic> diagnostics_;
};

// What two layouts may differ in; the order of dimensions never.
struct LayoutLeniency {
  bool tiles = false;
  bool memory_space = false;
  bool element_size = false;
  bool tail_padding = false;
  bool split_configs = false;
  bool everything = false;
};
bool SameLayout(const Layout& a, const Layout& b, const LayoutLeniency& leniency);

// How much of two shapes must agree. Dynamic dimensions always match static ones of the same size,
// unbounded ones any size.
struct Agreement {
  bool float_width = true;     // f32 and bf16 differ
  bool layout = false;         // layouts are looked at
  LayoutLeniency leniency;     // only with layout
  bool ignore_buffer = false;  // an array agrees with a buffer of it
};
bool Agree(Shape a, Shape b, const Agreement& agreement);
// Agree on types and sizes, layouts aside.
inline bool SameIgnoringLayout(Shape a, Shape b) { return Agree(a, b, {}); }
// Agree on types and sizes, with layout_sensitive on layouts to the last detail.
inline Agreement ExactWhereLayoutsCount(const VerifierOptions& options,
                                        const LayoutLeniency& leniency = {}) {
  return {.float_width = true, .layout = options.layout_sensitive, .leniency = leniency};
}

struct VerifyContext {
  const Module& module;
  const VerifierOptions& options;
  Findings& findings;
};

// verifier.cc: links, parents, names, roots, parameters, cycles.
void VerifyStructure(const VerifyContext& context);
// verify_ops.cc: every instruction against the table, its shape rule, and the rules of its opcode,
// some of which are below.
void VerifyOps(const VerifyContext& context);
// verify_module.cc: entry layout, aliases and donors, schedules.
void VerifyModuleConfig(const VerifyContext& context);
// verify_channels.cc: sends and receives of all computations together.
void VerifyChannels(const VerifyContext& context);
// verify_buffers.cc: buffers stand only where they may, are passed on and have one writer. Called
// for modules that have any.
void VerifyBuffers(const VerifyContext& context);
// Pin, Unpin and CreateBuffer, in any module.
void VerifyBufferTarget(const VerifyContext& context, const Instruction& call);

// A rule of one opcode, called when operands, attributes and shapes are known to be sound.
using OpcodeRule = void (*)(const VerifyContext& context, const Instruction& instruction);

// verify_layouts.cc: with layout_sensitive, and what other options ask of layouts.
void VerifyLayouts(const VerifyContext& context, const Instruction& instruction);
// verify_sharding.cc
void VerifySharding(const VerifyContext& context, const Instruction& instruction);
// The devices on both sides of a domain, which what is around it takes over.
void VerifyDomain(const VerifyContext& context, const Instruction& instruction);
void VerifyOrigin(const VerifyContext& context, const Instruction& instruction);
// verify_control.cc
void VerifyFusion(const VerifyContext& context, const Instruction& fusion);
void VerifyCall(const VerifyContext& context, const Instruction& call);
void VerifyCustomCall(const VerifyContext& context, const Instruction& call);
void VerifyWhile(const VerifyContext& context, const Instruction& loop);
void VerifyConditional(const VerifyContext& context, const Instruction& conditional);
// verify_async.cc
void VerifyAsyncStart(const VerifyContext& context, const Instruction& start);
void VerifyAsyncUpdate(const VerifyContext& context, const Instruction& update);
void VerifyAsyncDone(const VerifyContext& context, const Instruction& done);
void VerifyTransferStart(const VerifyContext& context, const Instruction& start);  // send, recv
void VerifyTransferDone(const VerifyContext& context,
                        const Instruction& done);  // send-done, recv-done
void VerifyPairStart(const VerifyContext& context,
                     const Instruction& start);  // all-gather-start, copy-start, …
void VerifyPairDone(const VerifyContext& context, const Instruction& done);
// One user that is the done, or passes the value on; `control_dep` does not count.
void CheckOneUser(const VerifyContext& context, const Instruction& start);
// verify_chains.cc: of what is to run (verify_meaning.h).
absl::Status VerifyChains(const Module& module);
// verify_collectives.cc
void VerifyGroupCollective(const VerifyContext& context, const Instruction& instruction);
void VerifyCollectivePermute(const VerifyContext& context, const Instruction& permute);
// What nothing can run of groups that any devices may be in (verify_meaning.h); "": nothing.
std::string WrongDevices(const Instruction& collective_broadcast);

// The callee runs on its caller's thread.
void CheckCalleeThread(const VerifyContext& context, const Instruction& caller,
                       const Computation& callee);
// The rule of each alias of `output_to_operand_aliasing` that all opcodes share: operand and
// indices exist in these shapes, no output twice.
bool VerifyAliasIndices(const VerifyContext& context, const Instruction& instruction,
                        const OutputOperandAliases& aliases, Shape output,
                        absl::Span<const Shape> operands);
// The same for the instruction's own operands and result.
bool VerifyAliasIndices(const VerifyContext& context, const Instruction& instruction,
                        const OutputOperandAliases& aliases);

}  // namespace hlo::internal
