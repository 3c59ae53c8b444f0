// What a training loop needs to go on after its process has ended: the arrays that are fed back, as
// they are before a step.
//
//   DIR/step-200/checkpoint.json       step, module, devices, size and hash of each file, and how
//                                      far infeeds and outfeeds have come
//   DIR/step-200/arg3.npy              by number of the array leaf, as --input-dir names them
//   DIR/step-200/out5.npy              after the last step: results that are fed to nothing, by leaf
//   DIR/step-200/device1/arg3.npy      the same where there are several devices
//
// A checkpoint is written to a folder of another name, which is renamed at last: under its own name
// it is whole, with the arrays of all devices. The two newest are kept. Left-over folders of a
// killed process are removed by the next one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/communicator.h"
#include "lib/types/literal.h"
#include "tools/run/feed_files.h"

namespace hlo {

struct Checkpoint {
  int64_t step = 0;                           // so many are done
  std::vector<std::vector<Literal>> devices;  // arrays of each, in the order of CheckpointForm
  std::vector<std::vector<Literal>> results;  // the same of the results; empty before the last step
  std::vector<FeedPosition> feeds;            // of each, where the module feeds
};

// What all checkpoints of a loop have in common; others are refused.
struct CheckpointForm {
  uint64_t module = 0;  // a hash of what runs
  DeviceMesh mesh;
  std::vector<std::pair<size_t, Shape>> arrays;   // number of the array leaf of the parameters
  std::vector<std::pair<size_t, Shape>> results;  // number of the leaf of the result
  bool feeds = false;                             // the module has an infeed or outfeed
};

class CheckpointFolder {
 public:
  // Makes `path` where there is none, and removes what a killed process left.
  static absl::StatusOr<CheckpointFolder> Open(std::string path, CheckpointForm form);

  // The step of the newest checkpoint, whole or not; 0: there is none.
  int64_t NewestStep() const;
  absl::Status Write(const Checkpoint& checkpoint) const;

  // A checkpoint that was found; `note` says which newer ones are not whole.
  struct Found {
    std::optional<Checkpoint> checkpoint;
    std::string note;
  };
  // The newest whole one. None at all is no error; that none of those that there are can be read
  // is.
  absl::StatusOr<Found> ReadNewest() const;

 private:
  CheckpointFolder(std::string path, CheckpointForm form)
      : path_(std::move(path)), form_(std::move(form)) {}
  std::vector<int64_t> Steps() const;  // ascending
  std::string FolderOf(int64_t step) const;
  // "device1/arg3.npy"
  std::string FileOf(int64_t device, std::string_view kind, size_t number) const;
  absl::StatusOr<Checkpoint> Read(int64_t step) const;

  std::string path_;
  CheckpointForm form_;
};

}  // namespace hlo
