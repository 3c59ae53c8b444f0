#include "tools/run/feed_files.h"

#include <fmt/format.h>

#include <utility>

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "tools/run/devices.h"

namespace hlo {
namespace {

int64_t CountArrays(const std::vector<Literal>& values) {
  int64_t count = 0;
  for (const Literal& value : values) count += std::ssize(ArrayLeaves(value));
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FeedFiles>> FeedFiles::Make(const std::vector<std::string>& words,
                                                           const DeviceMesh& mesh, int64_t copies) {
  auto files = std::make_unique<FeedFiles>();
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    Queue queue;
    ASSIGN_OR_RETURN(queue.words, WordsOf(words, mesh, device));
    files->queues_.insert(files->queues_.end(), static_cast<size_t>(copies), queue);
  }
  files->Restart();
  return files;
}

void FeedFiles::Restart() {
  for (Queue& queue : queues_) {
    Queue fresh;
    fresh.words = std::move(queue.words);
    queue = std::move(fresh);
  }
  given_.assign(queues_.size(), {});
}

std::vector<FeedPosition> FeedFiles::Positions() const {
  std::vector<FeedPosition> positions;
  for (size_t device = 0; device < queues_.size(); ++device) {
    const Queue& queue = queues_[device];
    FeedPosition position;
    // A word of which something is left is read again.
    const bool is_within = !queue.waiting.empty();
    position.word = static_cast<int64_t>(is_within ? queue.next - 1 : queue.next);
    position.literal =
        static_cast<int64_t>(is_within ? queue.count - queue.waiting.size() : queue.skipped);
    position.taken = queue.taken;
    const Outfeed& given = given_[device];
    position.given = given.first + std::ssize(given.values);
    position.arrays = given.first_array + CountArrays(given.values);
    positions.push_back(position);
  }
  return positions;
}

absl::Status FeedFiles::GoOnAt(const std::vector<FeedPosition>& positions) {
  Restart();
  for (size_t device = 0; device < queues_.size(); ++device) {
    Queue& queue = queues_[device];
    const FeedPosition& position = positions[device];
    if (position.word > std::ssize(queue.words)) {
      return Error(
          "the checkpoint is of a loop whose infeed had taken {} words, but --infeed has {}",
          position.word, queue.words.size());
    }
    queue.next = static_cast<size_t>(position.word);
    queue.skipped = static_cast<size_t>(position.literal);
    queue.taken = position.taken;
    given_[device] = {position.given, position.arrays, {}};
  }
  return absl::OkStatus();
}

void FeedFiles::Drop() {
  for (Outfeed& given : given_) {
    given = {
        given.first + std::ssize(given.values), given.first_array + CountArrays(given.values), {}};
  }
}

absl::StatusOr<Literal> FeedFiles::Take(int64_t device, const Instruction& infeed) {
  Queue& queue = queues_[static_cast<size_t>(device)];
  const Shape wanted = infeed.shape().element(0);
  std::vector<ParameterLeaf> leaves;
  ForEachLeaf(wanted, [&](Shape leaf, const ShapeIndex& index) {
    leaves.push_back({-1, index, leaf.WithDefaultLayout(), fmt::format("value {}", queue.taken)});
  });
  std::vector<Literal> arrays;
  while (arrays.size() < leaves.size()) {
    if (queue.waiting.empty()) {
      if (queue.next == queue.words.size()) {
        return Missing(infeed, device, arrays.size());
      }
      absl::StatusOr<std::vector<LiteralFromWord>> read =
          ReadWord(queue.words[queue.next++], leaves, arrays.size());
      if (!read.ok()) return AddPrefix(read.status(), "--infeed");
      queue.count = read->size();
      for (size_t i = std::exchange(queue.skipped, 0); i < read->size(); ++i)
        queue.waiting.push_back(std::move((*read)[i]));
      continue;
    }
    const LiteralFromWord literal = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    for (Literal& leaf : ArrayLeaves(literal.value)) {
      const bool is_too_much = arrays.size() == leaves.size();
      if (is_too_much || !CompatibleIgnoringDynamic(leaf.shape(), leaves[arrays.size()].shape)) {
        return Error(infeed.loc(), "`{}` takes in `{}`, but --infeed has {} of shape `{}` there",
                     infeed.name(), wanted, literal.origin, literal.value.shape());
      }
      arrays.push_back(std::move(leaf));
    }
  }
  ++queue.taken;
  size_t next = 0;
  return FromLeaves(wanted, arrays, next);
}

// `arrays`: as many as there were of the value.
absl::Status FeedFiles::Missing(const Instruction& infeed, int64_t device, size_t arrays) const {
  const Shape wanted = infeed.shape().element(0);
  const int64_t taken = queues_[static_cast<size_t>(device)].taken;
  const std::string where = queues_.size() > 1 ? fmt::format(" on device {}", device) : "";
  if (arrays > 0) {
    return Error(infeed.loc(), "`{}` asks for value {}{}, `{}`, of which --infeed gives {} of {}",
                 infeed.name(), taken + 1, where, wanted, arrays, LeafCount(wanted));
  }
  return Error(infeed.loc(), "`{}` asks for value {}{}, `{}`, but --infeed gives no more than {}",
               infeed.name(), taken + 1, where, wanted, taken);
}

absl::Status FeedFiles::Give(int64_t device, const Instruction&, Literal value) {
  given_[static_cast<size_t>(device)].values.push_back(std::move(value));
  return absl::OkStatus();
}

}  // namespace hlo
