#include "tools/fuzz/programs/device_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "lib/support/strings.h"

namespace hlo {
namespace {

using Dims = std::vector<int64_t>;
using Lists = std::vector<std::vector<int64_t>>;

struct ProgramValue {
  std::string name;
  Dims dims;
};

// Writes the text of one program, step by step.
class DeviceProgramWriter {
 public:
  explicit DeviceProgramWriter(FuzzRandom& random) : random_(random) {
    do {
      replicas_ = 1 + static_cast<int64_t>(random.Below(4));
      partitions_ = 1 + static_cast<int64_t>(random.Below(4));
    } while (replicas_ * partitions_ < 2 || replicas_ * partitions_ > 8);
    static const std::vector<std::string> kTypes = {"f32", "s32", "f64", "u8",  "bf16", "s16",
                                                    "c64", "u64", "f16", "s64", "s8",   "u32"};
    type_ = random.Pick(kTypes);
  }

  std::string Write() {
    for (size_t i = 1 + random_.Below(2); i > 0; --i) {
      Dims dims;
      for (size_t d = 1 + random_.Below(3); d > 0; --d)
        dims.push_back(static_cast<int64_t>(random_.Below(random_.OneIn(4) ? 13 : 5)) *
                       (random_.OneIn(2) ? replicas_ * partitions_ : 1));
      Step(dims, fmt::format("parameter({})", values_.size()));
    }
    TellApart();
    for (size_t i = 1 + random_.Small(6); i > 0; --i) Grow();
    std::string shapes, names;
    for (const ProgramValue& value : values_) {
      shapes += (shapes.empty() ? "" : ", ") + ShapeText(value.dims);
      names += (names.empty() ? "" : ", ") + value.name;
    }
    body_ += fmt::format("  ROOT result = ({}) tuple({})\n", shapes, names);
    return fmt::format(
        "HloModule devices, replica_count={}, num_partitions={}\n\n{}ENTRY main {{\n{}}}\n",
        replicas_, partitions_, regions_, body_);
  }

 private:
  struct Groups {
    Lists lists;
    std::string text;        // of the attribute
    std::string attributes;  // channel_id and the like, with a comma before
    int64_t size = 1;        // devices of a group
  };

  std::string ShapeText(const Dims& dims) const {
    return fmt::format("{}[{}]", type_, fmt::join(dims, ","));
  }
  void Line(std::string_view text) { body_ += fmt::format("  {}\n", text); }
  std::string Name() { return fmt::format("v{}", names_++); }
  void Step(const Dims& dims, const std::string& text) {
    values_.push_back({Name(), dims});
    Line(fmt::format("{} = {} {}", values_.back().name, ShapeText(dims), text));
  }

  void TellApart() {
    const ProgramValue x = random_.Pick(values_);
    const std::string id = Name();
    Line(
        fmt::format("{0} = u32[] {1}-id()\n  {0}c = {2}[] convert({0})\n"
                    "  {0}b = {3} broadcast({0}c), dimensions={{}}",
                    id, random_.OneIn(2) ? "replica" : "partition", type_, ShapeText(x.dims)));
    Step(x.dims, fmt::format("add({}, {}b)", x.name, id));
  }

  std::string Region() {
    static const std::vector<std::string> kAny = {"add", "multiply"};
    static const std::vector<std::string> kOrdered = {"add", "multiply", "maximum", "minimum"};
    const std::string name = fmt::format("region{}", regions_made_++);
    const bool in_order = random_.OneIn(5);  // twice what came before, plus the next
    regions_ +=
        fmt::format("{0} {{\n  a = {1}[] parameter(0)\n  b = {1}[] parameter(1)\n", name, type_);
    if (in_order) regions_ += fmt::format("  d = {}[] add(a, a)\n", type_);
    regions_ += fmt::format("  ROOT r = {}[] {}({}, b)\n}}\n\n", type_,
                            in_order ? "add" : random_.Pick(type_[0] == 'c' ? kAny : kOrdered),
                            in_order ? "d" : "a");
    return name;
  }

  // Groups of equal size, of ids of `mode`: devices, replicas, partitions.
  Groups RandomGroups(bool has_global_ids, bool may_be_empty = true) {
    Groups groups;
    int64_t ids = replicas_, times = 1;
    if (const size_t mode = random_.Below(3); has_global_ids && mode == 0) {
      ids = replicas_ * partitions_;
      groups.attributes = ", use_global_device_ids=true";
    } else if (has_global_ids && mode == 1) {
      times = partitions_;
    } else if (!has_global_ids && mode == 0) {
      ids = partitions_;
    } else {
      groups.attributes = "-";
    }
    // Without a channel: replicas of one partition.
    groups.attributes = groups.attributes == "-"
                            ? ""
                            : fmt::format(", channel_id={}", ++channels_) + groups.attributes;
    Dims sizes;
    for (int64_t size = 1; size <= ids; ++size) {
      if (ids % size == 0) sizes.push_back(size);
    }
    const int64_t size = random_.OneIn(2) ? ids : random_.Pick(sizes);
    std::vector<int64_t> order(static_cast<size_t>(ids));
    std::iota(order.begin(), order.end(), 0);
    const bool is_iota = random_.OneIn(3);
    for (size_t i = order.size(); i > 1 && !is_iota; --i)
      std::swap(order[i - 1], order[random_.Below(i)]);
    for (int64_t begin = 0; begin < ids; begin += size)
      groups.lists.emplace_back(order.begin() + begin, order.begin() + begin + size);
    groups.text =
        is_iota ? fmt::format("[{},{}]<=[{}]", ids / size, size, ids) : ListsText(groups.lists);
    const bool is_global = groups.attributes.find("global") != std::string::npos;
    if (may_be_empty && !is_global && size == ids && random_.OneIn(3)) groups.text = "{}";
    groups.size = size * times;
    return groups;
  }

  static std::string ListsText(const Lists& lists) {
    std::string text;
    for (const auto& list : lists)
      text += fmt::format("{}{{{}}}", text.empty() ? "" : ",", fmt::join(list, ","));
    return "{" + text + "}";
  }

  // A dimension of x that `count` divides; -1: none.
  int64_t DivisibleDimension(const Dims& dims, int64_t count) {
    std::vector<int64_t> fitting;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] % count == 0) fitting.push_back(static_cast<int64_t>(d));
    }
    return fitting.empty() ? -1 : random_.Pick(fitting);
  }

  void Grow() {
    const ProgramValue x = random_.Pick(values_);
    switch (random_.Below(8)) {
      case 0: return AllReduce(x);
      case 1: return AllGather(x);
      case 2: return ReduceScatter(x);
      case 3: return AllToAll(x);
      case 4: return Permute(x);
      case 5: return Broadcast(x);
      case 6: return Transfer(x);
      default: return TellApart();
    }
  }

  void AllReduce(const ProgramValue& x) {
    const Groups groups = RandomGroups(true);
    const std::string rest = fmt::format("({}), replica_groups={}{}, to_apply={}", x.name,
                                         groups.text, groups.attributes, Region());
    if (random_.OneIn(2)) return Step(x.dims, "all-reduce" + rest);
    const std::string start = Name();
    Line(fmt::format("{} = {} all-reduce-start{}", start, ShapeText(x.dims), rest));
    if (random_.OneIn(2)) TellApart();
    Step(x.dims, fmt::format("all-reduce-done({})", start));
  }

  void AllGather(const ProgramValue& x) {
    const Groups groups = RandomGroups(true);
    const size_t d = random_.Below(x.dims.size());
    Dims dims = x.dims;
    dims[d] *= groups.size;
    if (std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()) > 20000) return;
    const std::string rest = fmt::format("({}), replica_groups={}{}, dimensions={{{}}}", x.name,
                                         groups.text, groups.attributes, d);
    if (random_.OneIn(2)) return Step(dims, "all-gather" + rest);
    const std::string start = Name();
    Line(fmt::format("{} = ({}, {}) all-gather-start{}", start, ShapeText(x.dims), ShapeText(dims),
                     rest));
    Step(dims, fmt::format("all-gather-done({})", start));
  }

  void ReduceScatter(const ProgramValue& x) {
    const Groups groups = RandomGroups(true);
    const int64_t d = DivisibleDimension(x.dims, groups.size);
    if (d < 0 || x.dims[static_cast<size_t>(d)] == 0) return;
    Dims dims = x.dims;
    dims[static_cast<size_t>(d)] /= groups.size;
    Step(dims,
         fmt::format("reduce-scatter({}), replica_groups={}{}, dimensions={{{}}}, to_apply={}",
                     x.name, groups.text, groups.attributes, d, Region()));
  }

  void AllToAll(const ProgramValue& x) {
    const Groups groups = RandomGroups(false);
    const int64_t d = DivisibleDimension(x.dims, groups.size);
    if (d >= 0 && !random_.OneIn(3)) {
      return Step(x.dims, fmt::format("all-to-all({}), replica_groups={}{}, dimensions={{{}}}",
                                      x.name, groups.text, groups.attributes, d));
    }
    std::vector<std::string> operands, shapes;
    for (int64_t i = 0; i < groups.size; ++i) {
      std::vector<std::string> alike;
      for (const ProgramValue& value : values_) {
        if (value.dims == x.dims) alike.push_back(value.name);
      }
      operands.push_back(random_.Pick(alike));
      shapes.push_back(ShapeText(x.dims));
    }
    const std::string all = Name();
    Line(fmt::format("{} = ({}) all-to-all({}), replica_groups={}{}", all, fmt::join(shapes, ", "),
                     fmt::join(operands, ", "), groups.text, groups.attributes));
    Step(x.dims, fmt::format("get-tuple-element({}), index={}", all,
                             random_.Below(static_cast<size_t>(groups.size))));
  }

  // Each of `ids` at most once a source and once a target.
  Lists RandomPairs(int64_t ids) {
    std::vector<int64_t> targets(static_cast<size_t>(ids));
    std::iota(targets.begin(), targets.end(), 0);
    for (size_t i = targets.size(); i > 1; --i)
      std::swap(targets[i - 1], targets[random_.Below(i)]);
    Lists pairs;
    for (int64_t id = 0; id < ids; ++id) {
      if (!random_.OneIn(4)) pairs.push_back({id, targets[static_cast<size_t>(id)]});
    }
    return pairs;
  }

  void Permute(const ProgramValue& x) {
    const bool by_partition = random_.OneIn(2);
    const std::string rest =
        fmt::format("({}), source_target_pairs={}{}", x.name,
                    ListsText(RandomPairs(by_partition ? partitions_ : replicas_)),
                    by_partition ? fmt::format(", channel_id={}", ++channels_) : "");
    if (random_.OneIn(2)) return Step(x.dims, "collective-permute" + rest);
    const std::string start = Name(), shape = ShapeText(x.dims);
    Line(fmt::format("{} = ({}, {}) collective-permute-start{}", start, shape, shape, rest));
    Step(x.dims, fmt::format("collective-permute-done({})", start));
  }

  void Broadcast(const ProgramValue& x) {
    const Groups groups = RandomGroups(false, /*may_be_empty=*/false);
    Step(x.dims, fmt::format("collective-broadcast({}), replica_groups={}{}", x.name, groups.text,
                             groups.attributes));
  }

  void Transfer(const ProgramValue& x) {
    const int64_t channel = ++channels_;
    const std::string pairs = fmt::format(
        "channel_id={}, frontend_attributes={{_xla_send_recv_source_target_pairs=\"{}\"}}", channel,
        ListsText(RandomPairs(partitions_ > 1 ? partitions_ : replicas_)));
    const std::string n = Name(), shape = ShapeText(x.dims);
    Line(fmt::format("{}t = token[] after-all()", n));
    Line(fmt::format("{0}r = ({1}, u32[], token[]) recv({0}t), {2}", n, shape, pairs));
    Line(
        fmt::format("{0}s = ({1}, u32[], token[]) send({3}, {0}t), {2}, "
                    "control-predecessors={{{0}r}}",
                    n, shape, pairs, x.name));
    Line(fmt::format("{0}d = ({1}, token[]) recv-done({0}r), {2}, control-predecessors={{{0}s}}", n,
                     shape, pairs));
    Line(fmt::format("{0}e = token[] send-done({0}s), {1}, control-predecessors={{{0}d}}", n,
                     pairs));
    Step(x.dims, fmt::format("get-tuple-element({}d), index=0", n));
  }

  FuzzRandom& random_;
  int64_t replicas_ = 1, partitions_ = 1, channels_ = 0;
  std::string type_, regions_, body_;
  std::vector<ProgramValue> values_;
  int names_ = 0, regions_made_ = 0;
};

}  // namespace

std::string RandomDeviceProgram(FuzzRandom& random) { return DeviceProgramWriter(random).Write(); }

}  // namespace hlo
