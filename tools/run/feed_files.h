// --infeed= and --outfeed-dir=: what infeed instructions take in, word by word, and what outfeed
// instructions give, kept until it is written. Each device has queues of its own.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/eval/communicator.h"
#include "lib/eval/host_feed.h"
#include "tools/run/inputs.h"

namespace hlo {

class FeedFiles final : public HostFeed {
 public:
  // `words` are values as inputs are (inputs.h); `N:VALUE` is one of device N, others are given to
  // every device. Refuses devices that are not there.
  static absl::StatusOr<std::unique_ptr<FeedFiles>> Make(const std::vector<std::string>& words,
                                                         const DeviceMesh& mesh);

  // From the first word on, with nothing given: before every run. No device may be in a run.
  void Restart();

  absl::StatusOr<Literal> Take(int64_t device, const Instruction& infeed) override;
  absl::Status Give(int64_t device, const Instruction& outfeed, Literal value) override;

  // What the device has given in the last run, in order.
  const std::vector<Literal>& given(int64_t device) const {
    return given_[static_cast<size_t>(device)];
  }

 private:
  absl::Status Missing(const Instruction& infeed, int64_t device, size_t arrays) const;

  struct Queue {
    std::vector<std::string> words;
    size_t next = 0;                      // word
    std::deque<LiteralFromWord> waiting;  // of words before it
    int64_t taken = 0;
  };

  std::vector<Queue> queues_;  // by device, which alone uses its own
  std::vector<std::vector<Literal>> given_;
};

}  // namespace hlo
