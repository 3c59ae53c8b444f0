// hlo-run --spmd: a module whose values are divided among partitions by shardings is made the
// program of each partition, and run as what it was: with the inputs of the whole module, which are
// cut, and its results, which are put together.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/eval/communicator.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "tools/run/buffer_plan.h"

namespace hlo {

// The partitions of a module that is to be divided: `given`, of --num-partitions; where it is 0 and
// the module has one partition, as many as its Shardy mesh has devices, or as its shardings are
// over; 0 where nothing says it. An error where a number fits no mesh, and where shardings differ.
absl::StatusOr<int64_t> PartitionsByShardings(const Module& module, int64_t given);

// Makes `module` the program of each of its partitions, after propagating its shardings. Results
// that are fed back are divided as what they are fed to.
absl::Status DivideByShardings(Module& module, const std::vector<BufferPlan::Feed>& feeds = {});

// The first instruction whose sharding divides a value among several devices, or null.
const Instruction* FirstDivided(const Module& module);

class SpmdRun {
 public:
  // Divides `module`.
  static absl::StatusOr<SpmdRun> Make(Module& module, const std::vector<BufferPlan::Feed>& feeds);

  // What it was: one partition, which has everything.
  const Module& whole() const { return *whole_; }
  // Of the replicas, each taken for one device.
  DeviceMesh mesh() const { return {whole_->config().replica_count, 1}; }
  // Of `module`, which has been divided: an output that is fed must be divided as the input is.
  absl::Status CheckFeeds(const Module& module, const std::vector<BufferPlan::Feed>& feeds) const;
  // Arguments of each device from those of each replica, which are kept for a reference.
  absl::StatusOr<std::vector<std::vector<Literal>>> Cut(
      const Module& module, std::vector<std::vector<Literal>> by_replica);
  const std::vector<std::vector<Literal>>& arguments() const { return arguments_; }
  // Results by replica.
  absl::StatusOr<std::vector<Literal>> Join(const std::vector<Literal>& by_device) const;

 private:
  std::unique_ptr<Module> whole_;
  Sharding result_;
  int64_t partitions_ = 1;
  std::vector<std::vector<Literal>> arguments_;
};

}  // namespace hlo
