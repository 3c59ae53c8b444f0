// Calls that are to run beside what follows them, on a thread of their own: `async-to-call` marks
// them, `call-to-async` makes pairs of them. In between they are plain calls that are not inlined.
//
//   c = call(x), to_apply=f, frontend_attributes={background_thread="side",inlineable="false"}
#pragma once

#include <string>
#include <string_view>

#include "lib/ir/computation.h"
#include "lib/ir/instruction.h"
#include "passes/util/frontend_attribute.h"

namespace hlo {

// What a program says of an async-start, or of a marked call: "true" however little there is to
// gain.
inline constexpr std::string_view kBackgroundWish = "background";

inline constexpr std::string_view kBackgroundThread = "background_thread";
inline constexpr std::string_view kInlineableWish = "inlineable";

inline void MarkForBackground(Instruction* call, std::string_view thread, std::string_view wish) {
  auto& attributes = call->mutable_extras().frontend_attributes;
  attributes.insert_or_assign(std::string(kBackgroundThread), std::string(thread));
  attributes.insert_or_assign(std::string(kInlineableWish), "false");
  if (!wish.empty()) attributes.insert_or_assign(std::string(kBackgroundWish), std::string(wish));
}

// The thread; empty for other instructions.
inline std::string_view BackgroundThreadOf(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCall) return "";
  return FrontendAttribute(instruction, kBackgroundThread);
}

// Whether what the computation does, or calls, may have to wait for other devices: it has a thread
// to itself then, and other devices need not wait for what stands before it there.
inline bool MeetsOthers(const Computation& computation) {
  for (const Instruction* instruction : computation.instructions()) {
    if (HasTrait(instruction->opcode(), kCollective)) return true;
    for (const Computation* callee : instruction->calls()) {
      if (MeetsOthers(*callee)) return true;
    }
  }
  return false;
}

inline void UnmarkForBackground(Instruction* call) {
  FrontendAttributes others;
  for (const auto& [key, value] : call->mutable_extras().frontend_attributes) {
    if (key != kBackgroundThread && key != kBackgroundWish && key != kInlineableWish)
      others.insert_or_assign(key, value);
  }
  call->mutable_extras().frontend_attributes = std::move(others);
}

}  // namespace hlo
