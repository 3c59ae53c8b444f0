#include "tools/opt/svg_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/ir/dense_map.h"
#include "lib/ir/printer.h"
#include "lib/types/shape.h"
#include "tools/support/markup.h"

namespace hlo {
namespace {

// In pixels.
constexpr double kCharacter = 6.1, kPadding = 8, kLine = 13;
constexpr double kGap = 14, kLayerGap = 34, kMargin = 24, kTitle = 22;
constexpr size_t kLongest = 40;  // characters of a line

std::string Short(std::string_view text) {
  return text.size() > kLongest ? fmt::format("{}…", text.substr(0, kLongest - 1))
                                : std::string(text);
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  std::vector<std::string> lines;
  double middle() const { return x + width / 2; }
};

class Picture {
 public:
  Picture(const Module& module, const NodeColors& colors)
      : module_(module), colors_(colors), boxes_(module.id_limit(), Box()) {}

  std::string Draw() {
    std::vector<Computation*> order = module_.PostOrder();
    double y = kMargin;
    for (size_t i = order.size(); i-- > 0;) y = DrawComputation(*order[i], y) + kMargin;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"monospace\" font-size=\"10\">\n"
               "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
               right_ + kMargin, y, MarkupText(module_.name())) +
           text_ + "</svg>\n";
  }

 private:
  // Below all operands; what has none, just above its first user.
  static InstructionMap<int> LayersOf(const Computation& computation,
                                      const std::vector<Instruction*>& order) {
    InstructionMap<int> layers(computation.module().id_limit(), 0);
    for (const Instruction* instruction : order) {
      int layer = 0;
      for (const Instruction* operand : instruction->operands())
        layer = std::max(layer, layers.Get(operand) + 1);
      layers[instruction] = layer;
    }
    for (const Instruction* instruction : order) {
      if (instruction->operand_count() > 0 || !instruction->is_used()) continue;
      int first = layers.Get(instruction->uses().begin()->user);
      for (const Use& use : instruction->uses()) first = std::min(first, layers.Get(use.user));
      layers[instruction] = std::max(first - 1, 0);
    }
    return layers;
  }

  void Measure(const Instruction& instruction) {
    Box& box = boxes_[&instruction];
    box.lines = {Short(instruction.name()), std::string(instruction.opcode_text()),
                 Short(fmt::format("{}", instruction.shape()))};
    for (const Computation* callee : instruction.calls())
      box.lines.push_back(Short(callee->name()));
    size_t longest = 0;
    for (const std::string& line : box.lines) longest = std::max(longest, line.size());
    box.width = kCharacter * static_cast<double>(longest) + 2 * kPadding;
    box.height = kLine * static_cast<double>(box.lines.size()) + kPadding;
  }

  // Where an instruction would stand if there were no others: below the middle of its operands.
  double WishOf(const Instruction& instruction) const {
    double sum = 0;
    int count = 0;
    for (const Instruction* operand : instruction.operands()) {
      if (boxes_.Get(operand).y == 0) continue;
      sum += boxes_.Get(operand).middle();
      ++count;
    }
    return count == 0 ? 0 : sum / count;
  }

  // Draws from `top` on and returns where the picture of the computation ends.
  double DrawComputation(const Computation& computation, double top) {
    const std::vector<Instruction*> order = computation.PostOrder();
    const InstructionMap<int> layers = LayersOf(computation, order);
    std::vector<std::vector<const Instruction*>> rows;
    for (const Instruction* instruction : order) {
      const auto layer = static_cast<size_t>(layers.Get(instruction));
      if (rows.size() <= layer) rows.resize(layer + 1);
      rows[layer].push_back(instruction);
      Measure(*instruction);
    }
    double y = top + kTitle + kPadding, right = 0;
    for (std::vector<const Instruction*>& row : rows) {
      std::vector<std::pair<double, const Instruction*>> wishes;
      for (const Instruction* instruction : row)
        wishes.emplace_back(WishOf(*instruction), instruction);
      std::stable_sort(wishes.begin(), wishes.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      double x = 2 * kMargin, height = 0;
      for (const auto& [wish, instruction] : wishes) {
        Box& box = boxes_[instruction];
        box.x = std::max(x, wish - box.width / 2);
        box.y = y;
        x = box.x + box.width + kGap;
        height = std::max(height, box.height);
      }
      right = std::max(right, x);
      y += height + kLayerGap;
    }
    const double bottom = y - kLayerGap + kMargin;
    DrawFrame(computation, top, right, bottom);
    for (const Instruction* instruction : order) DrawLines(*instruction);
    for (const Instruction* instruction : order) DrawBox(*instruction);
    right_ = std::max(right_, right);
    return bottom;
  }

  void DrawFrame(const Computation& computation, double top, double right, double bottom) {
    text_ += fmt::format(
        "<g id=\"c{}\"><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "fill=\"#fafafa\" stroke=\"#9e9e9e\"/><text x=\"{:.0f}\" y=\"{:.0f}\" font-size=\"12\">"
        "{}{}</text></g>\n",
        computation.root()->id(), kMargin, top, right - kMargin, bottom - top, kMargin + kPadding,
        top + 15, computation.is_entry() ? "ENTRY " : "", MarkupText(computation.name()));
  }

  void DrawLine(const Instruction& from, const Instruction& to, std::string_view style) {
    const Box &a = boxes_.Get(&from), &b = boxes_.Get(&to);
    const double y1 = a.y + a.height, bend = std::max((b.y - y1) / 2, kLayerGap / 2);
    text_ += fmt::format(
        "<path d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\" fill=\"none\" "
        "stroke=\"#607d8b\"{}/>\n",
        a.middle(), y1, a.middle(), y1 + bend, b.middle(), b.y - bend, b.middle(), b.y, style);
  }

  void DrawLines(const Instruction& instruction) {
    for (const Instruction* operand : instruction.operands()) DrawLine(*operand, instruction, "");
    for (const Instruction* before : instruction.control_predecessors())
      DrawLine(*before, instruction, " stroke-dasharray=\"4\"");
  }

  void DrawBox(const Instruction& instruction) {
    const Box& box = boxes_.Get(&instruction);
    text_ += fmt::format(
        "<g id=\"i{}\"><title>{}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
        "height=\"{:.0f}\" rx=\"3\" fill=\"{}\" stroke=\"#424242\"{}/>",
        instruction.id(), MarkupText(ToText(instruction, PrintOptions::Default())), box.x, box.y,
        box.width, box.height, colors_.Of(instruction),
        instruction.is_root() ? " stroke-width=\"2.5\"" : "");
    const size_t own = box.lines.size() - instruction.calls().size();
    for (size_t i = 0; i < box.lines.size(); ++i) {
      const std::string text =
          fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\"{}>{}</text>",
                      box.middle(), box.y + kLine * static_cast<double>(i + 1),
                      i == 0    ? " font-weight=\"bold\""
                      : i < own ? ""
                                : " fill=\"#1565c0\"",
                      MarkupText(box.lines[i]));
      if (i < own) {
        text_ += text;
      } else {
        text_ += fmt::format("<a href=\"#c{}\">{}</a>",
                             instruction.call(static_cast<int>(i - own))->root()->id(), text);
      }
    }
    text_ += fmt::format("</g>\n");
  }

  const Module& module_;
  const NodeColors& colors_;
  InstructionMap<Box> boxes_;
  std::string text_;
  double right_ = 0;
};

}  // namespace

std::string ToSvg(const Module& module, const NodeColors& colors) {
  return Picture(module, colors).Draw();
}

}  // namespace hlo
