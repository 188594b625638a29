#include <iostream>
#include <vector>

int main()
{
    std::vector<int> v{3};
    try {
        throw v[0];
    } catch (int n) {
        std::cout << n << '\n';
    }
}
