#include "engine/drawing/layered.h"

#include <algorithm>

namespace lamella::drawing {
namespace {

constexpr double kGapX = 24;
constexpr double kGapY = 36;
constexpr double kMargin = 16;
constexpr int kOrderSweeps = 8;
constexpr int kPlaceSweeps = 6;

/// Box, or point where a long line passes through a layer.
struct Cell {
  Cell(std::size_t layer, double width, double height) : layer(layer), width(width), height(height) {}

  std::size_t layer;
  double width;
  double height;
  double x = 0;
  /// Position in the layer, counted from the left.
  std::size_t rank = 0;
  std::vector<std::size_t> above;
  std::vector<std::size_t> below;
};

class Layers {
 public:
  explicit Layers(LayeredDrawing& drawing) : drawing_(drawing) {
    for (const Box& box : drawing.boxes) cells_.emplace_back(0, box.width, box.height);
    assign_layers();
    route_links();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].layer >= layers_.size()) layers_.resize(cells_[i].layer + 1);
      cells_[i].rank = layers_[cells_[i].layer].size();
      layers_[cells_[i].layer].push_back(i);
    }
  }

  void run() {
    for (int sweep = 0; sweep < kOrderSweeps; ++sweep) sort_layers(sweep % 2 == 0);
    for (int sweep = 0; sweep <= kPlaceSweeps; ++sweep) place_layers(sweep % 2 == 0);
    write_back();
  }

 private:
  /// Puts each box into the layer whose number is the length of the longest path to it.
  void assign_layers() {
    const std::size_t n = drawing_.boxes.size();
    std::vector<std::size_t> waiting(n, 0);
    std::vector<std::vector<std::size_t>> next(n);
    for (const Link& link : drawing_.links) {
      next[link.from].push_back(link.to);
      ++waiting[link.to];
    }
    std::vector<std::size_t> queue;
    for (std::size_t i = 0; i < n; ++i) {
      if (waiting[i] == 0) queue.push_back(i);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::size_t to : next[queue[i]]) {
        cells_[to].layer = std::max(cells_[to].layer, cells_[queue[i]].layer + 1);
        if (--waiting[to] == 0) queue.push_back(to);
      }
    }
  }

  void route_links() {
    for (const Link& link : drawing_.links) {
      std::vector<std::size_t> way{link.from};
      for (std::size_t layer = cells_[link.from].layer + 1; layer < cells_[link.to].layer; ++layer) {
        way.push_back(cells_.size());
        cells_.emplace_back(layer, 1, 0);
      }
      way.push_back(link.to);
      for (std::size_t i = 0; i + 1 < way.size(); ++i) {
        cells_[way[i]].below.push_back(way[i + 1]);
        cells_[way[i + 1]].above.push_back(way[i]);
      }
      ways_.push_back(std::move(way));
    }
  }

  const std::vector<std::size_t>& neighbors(const Cell& cell, bool down) const {
    return down ? cell.above : cell.below;
  }

  /// Orders each layer by the mean place of the neighbors in the layer before.
  void sort_layers(bool down) {
    std::vector<double> key(cells_.size());
    const auto sort = [&](std::vector<std::size_t>& layer) {
      for (const std::size_t i : layer) {
        const auto& around = neighbors(cells_[i], down);
        double sum = 0;
        for (const std::size_t k : around) sum += static_cast<double>(cells_[k].rank);
        key[i] = around.empty() ? static_cast<double>(cells_[i].rank) : sum / static_cast<double>(around.size());
      }
      std::ranges::stable_sort(layer, {}, [&](std::size_t i) { return key[i]; });
      for (std::size_t rank = 0; rank < layer.size(); ++rank) cells_[layer[rank]].rank = rank;
    };
    if (down) {
      std::ranges::for_each(layers_, sort);
    } else {
      std::for_each(layers_.rbegin(), layers_.rend(), sort);
    }
  }

  /// Moves cells towards the middle of their neighbors, as far as the order and the gaps allow.
  void place_layers(bool down) {
    const auto place = [&](const std::vector<std::size_t>& layer) {
      std::vector<double> wanted;
      for (const std::size_t i : layer) {
        const auto& around = neighbors(cells_[i], down);
        double sum = 0;
        for (const std::size_t k : around) sum += cells_[k].x;
        wanted.push_back(around.empty() ? cells_[i].x : sum / static_cast<double>(around.size()));
      }
      const auto gap = [&](std::size_t r) { return (cells_[layer[r - 1]].width + cells_[layer[r]].width) / 2 + kGapX; };
      std::vector<double> left = wanted;
      std::vector<double> right = wanted;
      for (std::size_t r = 1; r < layer.size(); ++r) left[r] = std::max(left[r], left[r - 1] + gap(r));
      for (std::size_t r = layer.size(); r-- > 1;) right[r - 1] = std::min(right[r - 1], right[r] - gap(r));
      for (std::size_t r = 0; r < layer.size(); ++r) cells_[layer[r]].x = (left[r] + right[r]) / 2;
    };
    if (down) {
      std::ranges::for_each(layers_, place);
    } else {
      std::for_each(layers_.rbegin(), layers_.rend(), place);
    }
  }

  void write_back() {
    double least = 0;
    for (const Cell& cell : cells_) least = std::min(least, cell.x - cell.width / 2);
    std::vector<double> middle;
    std::vector<double> half;
    double y = kMargin;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const std::size_t i : layer) height = std::max(height, cells_[i].height);
      middle.push_back(y + height / 2);
      half.push_back(height / 2);
      y += height + kGapY;
    }
    double most = 0;
    for (Cell& cell : cells_) {
      cell.x += kMargin - least;
      most = std::max(most, cell.x + cell.width / 2);
    }
    drawing_.width = most + kMargin;
    drawing_.height = std::max(y - kGapY, 0.0) + kMargin;
    for (std::size_t i = 0; i < drawing_.boxes.size(); ++i) {
      drawing_.boxes[i].x = cells_[i].x;
      drawing_.boxes[i].y = middle[cells_[i].layer];
    }
    for (std::size_t k = 0; k < ways_.size(); ++k) {
      const auto& way = ways_[k];
      auto& points = drawing_.links[k].points;
      const Cell& first = cells_[way.front()];
      const Cell& last = cells_[way.back()];
      points.emplace_back(first.x, middle[first.layer] + first.height / 2);
      for (std::size_t i = 1; i + 1 < way.size(); ++i) {
        const Cell& cell = cells_[way[i]];
        // Leads the line straight through the layer, so that it keeps off the boxes beside it.
        points.emplace_back(cell.x, middle[cell.layer] - half[cell.layer]);
        points.emplace_back(cell.x, middle[cell.layer] + half[cell.layer]);
      }
      points.emplace_back(last.x, middle[last.layer] - last.height / 2);
    }
  }

  LayeredDrawing& drawing_;
  std::vector<Cell> cells_;
  std::vector<std::vector<std::size_t>> layers_;
  /// Cells that each link passes.
  std::vector<std::vector<std::size_t>> ways_;
};

}  // namespace

void lay_out(LayeredDrawing& drawing) { Layers(drawing).run(); }

}  // namespace lamella::drawing
