#include "tools/run/feed_files.h"

#include <fmt/format.h>

#include "lib/support/diagnostic.h"
#include "lib/support/status.h"
#include "tools/run/devices.h"

namespace hlo {

absl::StatusOr<std::unique_ptr<FeedFiles>> FeedFiles::Make(const std::vector<std::string>& words,
                                                           const DeviceMesh& mesh) {
  auto files = std::make_unique<FeedFiles>();
  files->queues_.resize(static_cast<size_t>(mesh.devices()));
  for (int64_t device = 0; device < mesh.devices(); ++device) {
    ASSIGN_OR_RETURN(files->queues_[static_cast<size_t>(device)].words,
                     WordsOf(words, mesh, device));
  }
  files->Restart();
  return files;
}

void FeedFiles::Restart() {
  for (Queue& queue : queues_) {
    queue.next = 0;
    queue.waiting.clear();
    queue.taken = 0;
  }
  given_.assign(queues_.size(), {});
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
      for (LiteralFromWord& literal : *read) queue.waiting.push_back(std::move(literal));
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
  given_[static_cast<size_t>(device)].push_back(std::move(value));
  return absl::OkStatus();
}

}  // namespace hlo
