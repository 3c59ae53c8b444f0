#include "passes/gpu/operation_queues.h"

#include "passes/gpu/library_config.h"

namespace hlo {
namespace {

// Lets `change` change what `instruction` says.
template <class Change>
absl::Status ChangeQueues(Instruction* instruction, Change change) {
  QueueConfig config;
  if (!instruction->backend_config().empty()) {
    ASSIGN_OR_RETURN(config, ReadWholeConfig<QueueConfig>(*instruction));
  }
  change(config);
  instruction->mutable_extras().backend_config = WholeJson(config);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunOnQueue(Instruction* instruction, int64_t queue) {
  if (!instruction->has_uses()) return absl::OkStatus();
  RETURN_IF_ERROR(ChangeQueues(
      instruction, [queue](QueueConfig& config) { config.operation_queue_id = queue; }));
  return ChangeQueues(instruction->users().front(), [queue](QueueConfig& config) {
    if (!config.wait_on_operation_queues) config.wait_on_operation_queues.emplace();
    DimVec& awaited = *config.wait_on_operation_queues;
    if (!absl::c_linear_search(awaited, queue)) awaited.push_back(queue);
  });
}

absl::Status ScheduleFirst(Instruction* instruction) {
  return ChangeQueues(instruction,
                      [](QueueConfig& config) { config.force_earliest_schedule = true; });
}

}  // namespace hlo
