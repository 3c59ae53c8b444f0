// What a call says of itself, its name and its stack frame, said of what it runs as well.
//
//   call(x), metadata={op_name="outer" stack_frame_id=2}
//   add(p, p), metadata={op_name="add" stack_frame_id=3}
//     =>   add(p, p), metadata={op_name="outer/add" stack_frame_id=4}      4: frame 3 on top of 2
//
// Names that begin with the call's stay, and so do those that would have more than 1024 characters,
// as XLA has it; frames that are on top of the call's already stay, too.
#pragma once

#include <map>
#include <string>

#include "lib/ir/module.h"

namespace hlo {

class CallMetadata {
 public:
  explicit CallMetadata(const Instruction& call);

  // Whether there is nothing to say.
  bool empty() const { return prefix_.empty() && frame_ <= 0; }
  // Returns whether `inner` is said to be something else now.
  bool PassOn(Instruction& inner);

 private:
  bool PassOnName(OpMetadata& metadata) const;
  // The frame that stands for `frame` called from the call's.
  int32_t Joined(int32_t frame);
  int32_t FrameOf(int32_t location, int32_t parent);

  StackFrames& frames_;
  std::string prefix_;
  int32_t frame_;
  std::map<std::pair<int32_t, int32_t>, int32_t> known_;  // by location and parent
};

}  // namespace hlo
