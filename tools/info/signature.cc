// What the program takes and gives: a row for each array, with what the module says of it.
#include <map>

#include "lib/ir/entry_info.h"
#include "lib/types/shape_util.h"
#include "tools/info/sections.h"

namespace hlo {
namespace {

using Place = std::pair<int64_t, ShapeIndex>;  // a part of a parameter

// What stands in lists of the configuration, by the parts that it is about.
class Declared {
 public:
  explicit Declared(const ModuleConfig& config) {
    for (const InputOutputAlias& alias : config.aliases) {
      const std::string_view how = alias.must_alias ? "must" : "may";
      of_parameters_[{alias.parameter, alias.parameter_index}] =
          fmt::format("result{} ({})", ToString(alias.output), how);
      of_results_[alias.output] =
          fmt::format("parameter {}{} ({})", alias.parameter,
                      alias.parameter_index.empty() ? "" : ToString(alias.parameter_index), how);
    }
    for (const BufferDonor& donor : config.donors)
      of_parameters_[{donor.parameter, donor.index}] = "donated";
  }

  std::string OfParameter(const Place& place) const { return Find(of_parameters_, place); }
  std::string OfResult(const ShapeIndex& index) const { return Find(of_results_, index); }

 private:
  template <class Key>
  static std::string Find(const std::map<Key, std::string>& texts, const Key& key) {
    const auto it = texts.find(key);
    return it == texts.end() ? "" : it->second;
  }

  std::map<Place, std::string> of_parameters_;
  std::map<ShapeIndex, std::string> of_results_;
};

// Of one array of a value.
std::string ShardingText(const Sharding* sharding, int64_t leaf) {
  if (sharding == nullptr) return "";
  if (!sharding->is_tuple) return sharding->ToString();
  const auto at = static_cast<size_t>(leaf);
  return at < sharding->leaves.size() ? Sharding::Of(sharding->leaves[at]).ToString() : "";
}

const Sharding* ParameterSharding(const Instruction& parameter, const ModuleConfig& config) {
  if (parameter.sharding() != nullptr) return parameter.sharding();
  const auto number = static_cast<size_t>(parameter.parameter_number());
  const auto& given = config.spmd_parameter_shardings;
  return number < given.size() ? &given[number] : nullptr;
}

const Sharding* ResultSharding(const Instruction& root, const ModuleConfig& config) {
  if (root.sharding() != nullptr) return root.sharding();
  return config.spmd_output_sharding ? &*config.spmd_output_sharding : nullptr;
}

}  // namespace

absl::StatusOr<Section> MakeSignature(ModuleFacts& facts) {
  const Computation& entry = *facts.module().entry();
  const ModuleConfig& config = facts.module().config();
  const Declared declared(config);
  Section section("signature");
  section.Column("kind", Unit::kText).Column("number", Unit::kNumber).Column("name", Unit::kText);
  section.Column("shape", Unit::kText).Column("bytes", Unit::kBytes);
  section.Column("sharding", Unit::kText).Column("alias", Unit::kText);
  for (const Instruction* parameter : entry.parameters()) {
    const int64_t number = parameter->parameter_number();
    const Sharding* const sharding = ParameterSharding(*parameter, config);
    const std::vector<std::string> names = NamesOfLeaves(*parameter);
    int64_t leaf = 0;
    ForEachLeaf(config.entry_layout.parameters[static_cast<size_t>(number)],
                [&](Shape shape, const ShapeIndex& index) {
                  section.Row({"parameter", number, names[static_cast<size_t>(leaf)],
                               shape.ToString(), ArrayBytes(shape), ShardingText(sharding, leaf),
                               declared.OfParameter({number, index})});
                  ++leaf;
                });
  }
  const Sharding* const sharding = ResultSharding(*entry.root(), config);
  const std::vector<std::string> names = NamesOfLeaves(*entry.root());
  int64_t leaf = 0;
  ForEachLeaf(config.entry_layout.result, [&](Shape shape, const ShapeIndex& index) {
    section.Row({"result", leaf, names[static_cast<size_t>(leaf)], shape.ToString(),
                 ArrayBytes(shape), ShardingText(sharding, leaf), declared.OfResult(index)});
    ++leaf;
  });
  return section;
}

}  // namespace hlo
