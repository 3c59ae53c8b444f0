// What memory is needed while `rematerialization` goes through a schedule, kept true while values
// come to be made twice: which buffers there are at the instruction whose turn it is, who is still
// going to use them, and how many bytes that is.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "passes/schedule/remat_model.h"
#include "passes/schedule/remat_sequence.h"

namespace hlo::remat {

struct BufferUse {
  Item* user;
  int operand;
  std::optional<int64_t> element;  // of the tuple that the maker of the buffer makes
};

struct Buffer {
  Item* maker = nullptr;
  Shape shape;
  ShapeIndex index;
  int64_t bytes = 0;  // that are counted
  bool is_live_out = false;
  bool has_indirect_uses = false;
  std::vector<BufferUse> uses;
  int waiting = 0;        // distinct users that are not done
  int64_t last_use = -1;  // the turn of the last user that is placed
  std::vector<Item*> overwriters;
  std::vector<Item*> names;  // bitcasts and get-tuple-elements that it is passed on by
};

class MemoryTracker {
 public:
  // Nothing is placed at first.
  MemoryTracker(Model& model, Sequence& sequence);

  // The turn of `item` begins: there must be room for what it makes. It ends: what is not needed
  // any more is free.
  void Begin(Item* item);
  void End();

  // Bytes at this time.
  int64_t bytes() const { return bytes_; }
  Item* current() const { return current_; }
  Sequence& sequence() const { return sequence_; }
  Model& model() const { return model_; }
  const Buffer& buffer(LogicalBufferId id) const { return buffers_[static_cast<size_t>(id)]; }

  // What the item makes, all of it; of that what somebody uses, or is going to.
  int64_t BytesMade(const Item& item) const;
  int64_t BytesUsed(const Item& item) const;
  int64_t BytesStillUsed(const Item& item) const;
  bool IsLive(LogicalBufferId id) const {
    return buffer(id).maker->is_placed && buffer(id).waiting > 0;
  }
  bool IsUsedNow(LogicalBufferId id) const {
    return current_ != nullptr && buffer(id).last_use == current_->turn;
  }
  bool HasUnplacedUsers(const Item& item) const;
  // Of all that the item makes.
  std::vector<BufferUse> UsesOf(const Item& item) const;

  // After the graph has changed.
  // `copy` makes what `original` makes, for all users that are not placed; `names` are new bitcasts
  // and get-tuple-elements of it.
  void AddRecomputed(Item* original, Item* copy, absl::Span<Item* const> names);
  // `compressed` is placed and reads `original`, `whole` reads that, for all users not placed.
  void AddCompressed(Item* original, Item* compressed, Item* whole);
  // Copies to the host and back, each begun and done, for all users not placed.
  struct Journey {
    Item *out, *out_done, *back, *back_done;
  };
  void AddOffloaded(Item* original, const Journey& journey);

  // Items about which something that matters to candidates has changed since the last call.
  std::vector<Item*> TakeTouched();
  void Touch(Item* item);

 private:
  LogicalBufferId New(Item* maker, Shape shape, ShapeIndex index, std::vector<BufferUse> uses);
  Buffer& At(LogicalBufferId id) { return buffers_[static_cast<size_t>(id)]; }
  void Allocate(const Item& item);
  void Release(const Item& item);
  void TouchNames(LogicalBufferId id);
  void TouchAll(LogicalBufferId id);
  // Splits the uses of a buffer: keeps those of placed users, returns the others.
  std::vector<BufferUse> TakeUnplaced(Buffer& buffer);
  void NeedAgain(Item* original, Item* copy);
  void MakeAgain(LogicalBufferId id, Item* copy);
  void ReadByName(Item* name);

  Model& model_;
  Sequence& sequence_;
  std::deque<Buffer> buffers_;
  std::vector<Item*> touched_;
  Item* current_ = nullptr;
  int64_t bytes_ = 0;
  int64_t turns_ = 0;
};

}  // namespace hlo::remat
