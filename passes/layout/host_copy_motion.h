// Takes a copy to another layout off arrays in the memory of the host.
//
//   c = f32[4,8]{0,1} copy(f32[4,8]{1,0} h)          t = (f32[4,8]{1,0}) tuple(h)
//   t = (f32[4,8]{0,1}) tuple(c)             =>      …
//   …                                                d = f32[4,8]{1,0} MoveToDevice(…)
//   d = f32[4,8]{0,1} MoveToDevice(…)                c = f32[4,8]{0,1} copy(d)
//
// The host's arrays keep the layout that they come with; the device copies when it has them back.
// A motion is found first and then done as a whole, or not at all.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "passes/layout/host_places.h"

namespace hlo {

// The MoveToHost that `value`, the operand of an update, comes from, and the MoveToDevice that a
// slice leads to: through what nobody else reads and only changes the form; null: there is none.
Instruction* MoveToHostBefore(Instruction* value);
Instruction* MoveToDeviceAfter(Instruction* slice);

class HostCopyMotion {
 public:
  // Nothing when some path from the copy does not end at MoveToDevice, leads through a computation
  // of the host, or through what must have the layout it has.
  static std::optional<HostCopyMotion> Find(Instruction* copy);
  void Do();

 private:
  using Key = std::pair<const Instruction*, ShapeIndex>;
  explicit HostCopyMotion(Instruction* copy) : copy_(copy) {}
  bool Visit(const HostPlace& place);
  bool TakeUse(const HostPlace& place, const HostStep& step);
  bool TakeData(const HostStep& step, Shape shape);
  bool Add(const HostPlace& place, Shape shape);
  bool IsClosed(const HostPlace& place) const;
  bool Knows(Instruction* instruction, const ShapeIndex& index) const {
    return instruction == copy_ || shapes_.contains(Key(instruction, index));
  }
  struct Annotated {
    Instruction* instruction;
    Instruction* move;  // MoveToHost before an update, MoveToDevice after the end of a path
  };
  static void MoveUpdateAnnotation(const Annotated& annotated);
  void CopyAfter(const Annotated& annotated, Shape before);

  Instruction* copy_;
  absl::flat_hash_map<Key, Shape> shapes_;  // without the copy; looked up only
  std::vector<HostPlace> places_;           // with them, in order
  std::vector<Annotated> ends_;             // slices and MoveToDevice among them
  std::vector<Annotated> updates_;
};

// copy(MoveToHost(x))  =>  MoveToHost(copy(x))
// Where the copy cannot be made later, it is made before. Returns whether the operand of `copy` is
// MoveToHost.
bool SwapWithMoveToHost(Instruction* copy);

}  // namespace hlo
