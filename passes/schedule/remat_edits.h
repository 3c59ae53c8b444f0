// What `rematerialization` has changed in one computation, so that it can be taken back.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/pass.h"
#include "passes/schedule/remat_sequence.h"

namespace hlo::remat {

class Edits {
 public:
  Edits(Computation& computation, Sequence& sequence, PassContext& context)
      : computation_(computation), sequence_(sequence), context_(context) {}

  // A new instruction, which is known to the sequence but not in it.
  Item* Add(Opcode opcode, Shape shape, absl::Span<Instruction* const> operands,
            std::string_view name, AttrsPtr attrs = {});
  // A copy with its own fusion bodies and asynchronous computations, and the same control edges.
  Item* AddCopy(const Instruction& original, std::string_view name);
  void Redirect(Instruction* user, int operand, Instruction* to);
  // Takes an instruction that nobody in the sequence uses out of it.
  void Remove(Item* item);

  // To be said of an instruction and counted if it stays.
  template <class... A>
  void Passed(const Instruction& instruction, std::string_view count, fmt::format_string<A...> text,
              A&&... values) {
    std::string said =
        context_.wants_remarks() ? fmt::format(text, std::forward<A>(values)...) : std::string();
    remarks_.push_back({&instruction, count, std::move(said)});
  }

  bool empty() const { return remarks_.empty(); }
  void Commit();
  void Undo();

 private:
  struct Redirection {
    Instruction* user;
    int operand;
    Instruction* before;
  };
  struct Remark {
    const Instruction* instruction;
    std::string_view count;
    std::string text;
  };

  Computation& computation_;
  Sequence& sequence_;
  PassContext& context_;
  std::vector<Instruction*> added_;
  std::vector<Computation*> bodies_;
  std::vector<Redirection> redirected_;
  std::vector<Instruction*> removed_;
  std::vector<Remark> remarks_;
};

}  // namespace hlo::remat
